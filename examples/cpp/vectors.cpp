// Runs a file of vectors (docs/vectors.md) on libtorch: `vectors VECTORS ANSWERS`. It prints each vector that differs, writes
// all answers for `autograd-conformance vectors check`, and exits with 1 if a vector differs. `vectors --claims` prints what
// the worker claims, for `autograd-conformance vectors make --claims`.

#include <cmath>
#include <fstream>
#include <iostream>
#include <string>

#include <ATen/Parallel.h>

#include "handshake.h"
#include "run.h"

namespace {

// How a tensor differs from the expected one; empty if it does not.
std::string difference(const Json& got, const Json& want) {
  if (got.is_null() && want.is_object() && want.value("may_be_missing", false)) {
    return "";  // zeros
  }
  if (got.is_null() || want.is_null()) {
    return got.is_null() == want.is_null() ? "" : got.is_null() ? "none in place of a tensor" : "a tensor in place of none";
  }
  for (const char* form : {"shape", "dtype"}) {
    if (got.at(form) != want.at(form)) {
      return std::string(form) + " " + got.at(form).dump() + " in place of " + want.at(form).dump();
    }
  }
  if (want.contains("requires_grad") && got.contains("requires_grad") && got["requires_grad"] != want["requires_grad"]) {
    return "requires_grad is " + got["requires_grad"].dump();
  }
  for (std::size_t k = 0; k < want["data"].size(); ++k) {
    if (!(std::abs(number(got["data"][k]) - number(want["data"][k])) <= want["bound"][k].get<double>())) {
      return got["data"][k].dump() + " in place of " + want["data"][k].dump() + ", which may be off by " + want["bound"][k].dump();
    }
  }
  return "";
}

// The first difference among named tensors. A tensor that the framework does not show is not compared.
std::string first_of(const Json& got, const Json& want) {
  for (const auto& [name, expected] : want.items()) {
    const auto found = got.contains(name) ? difference(got[name], expected) : "";
    if (!found.empty()) {
      return name + ": " + found;
    }
  }
  return "";
}

Json called(const Json& fired) {
  Json gradients = Json::object();
  for (const auto& call : fired) {
    gradients[call["hook"].get<std::string>()] = call["gradient"];
  }
  return gradients;
}

// How the outcome of an instruction differs from the expected one; empty if it does not.
std::string wrong(const Json& seen, const Json& want) {
  if (want.contains("skipped")) {
    return seen.contains("skipped") ? "" : "it ran, although a value that it needs does not exist";
  }
  if (want.contains("raised")) {
    const bool same = seen.contains("raised") && seen["raised"]["kind"] == want["raised"];
    return same ? "" : "expected: the error " + want["raised"].get<std::string>() + "; observed: " + seen.dump().substr(0, 200);
  }
  if (!seen.contains("returned")) {
    return "expected: it returns; observed: " + seen.dump().substr(0, 200);
  }
  for (std::size_t k = 0; k < want["returned"].size(); ++k) {
    if (auto found = difference(seen["returned"].at(k), want["returned"][k]); !found.empty()) {
      return found;
    }
  }
  const auto none = Json::object();
  for (const char* part : {"gradients", "values"}) {
    if (auto found = first_of(seen.value(part, none), want.value(part, none)); !found.empty()) {
      return found;
    }
  }
  const auto fired = seen.value("fired", Json::array()), calls = called(fired), expected = want.value("fired", none);
  if (fired.size() != expected.size()) {
    return "another number of hooks was called";
  }
  for (const auto& [hook, gradient] : expected.items()) {
    if (!calls.contains(hook)) {
      return hook + " was not called";
    }
  }
  return first_of(calls, expected);
}

}  // namespace

int main(int count, char** words) {
  at::set_num_threads(1);
  const std::string first = count > 1 ? words[1] : "";
  if (first == "--claims") {
    std::cout << handshake().dump() << std::endl;
    return 0;
  }
  std::ifstream vectors(first);
  std::string line;
  if (count != 3 || !std::getline(vectors, line) || Json::parse(line).value("vectors", 0) != 1) {
    std::cerr << "usage: vectors VECTORS ANSWERS, with a file of vectors of version 1 that is not compressed\n";
    return 2;
  }
  std::ofstream answers(words[2]);
  answers << handshake().dump() << "\n";
  int all = 0, differing = 0;
  for (; std::getline(vectors, line); ++all) {
    const auto vector = Json::parse(line);
    const auto observation = Run(vector["program"]).observed();
    answers << Json{{"id", vector["id"]}, {"observation", observation}}.dump() << "\n";
    for (std::size_t at = 0; at < observation.size(); ++at) {
      const auto& want = vector["expected"][at];
      const auto& seen = observation[at];
      if (want.contains("or_raised") && seen.contains("raised") && seen["raised"]["kind"] == want["or_raised"]) {
        break;  // a derivative that is not implemented
      }
      if (auto found = wrong(seen, want); !found.empty()) {
        ++differing;
        std::cout << "not ok " << vector["id"].get<std::string>() << " " << vector["rule"].get<std::string>()
                  << ", instruction " << at << ": " << found << "\n";
        break;
      }
    }
  }
  std::cout << all - differing << " of " << all << " vectors are right\n";
  return differing ? 1 : 0;
}
