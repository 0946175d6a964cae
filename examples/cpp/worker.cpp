// libtorch under test: answers each line of the process protocol (docs/protocol.md) by one line.

#include <iostream>
#include <string>

#include <ATen/Parallel.h>
#include <torch/utils.h>

#include "greeting.h"
#include "run.h"

namespace {

Json answer(const Json& asked) {
  if (asked["do"] == "hello") {
    if (asked["protocol"] != 1) {
      return {{"error", "this worker speaks version 1 of the protocol, not " + asked["protocol"].dump()}};
    }
    if (asked["device"] != "cpu") {
      return {{"error", "this worker has no device " + asked["device"].dump() + ", only the CPU"}};
    }
    return greeting();
  }
  if (asked["do"] == "run") {
    if (asked.contains("seed")) {
      torch::manual_seed(asked["seed"].get<std::uint64_t>());
    }
    return {{"id", asked["id"]}, {"observation", Run(asked["program"]).observed()}};
  }
  return {{"id", asked["id"]}, {"error", "this worker does not know how to " + asked["do"].dump()}};
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  at::set_num_threads(1);  // six elements need no pool, and workers share the cores
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << answer(Json::parse(line)).dump() << std::endl;
  }
}
