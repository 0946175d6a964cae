// A worker that runs programs on libtorch: it reads requests of the process protocol (docs/protocol.md), one a line, and
// writes a line for each.

#include <iostream>
#include <string>

#include <ATen/Parallel.h>
#include <torch/utils.h>

#include "handshake.h"
#include "run.h"

namespace {

Json reply(const Json& request) {
  if (request["do"] == "hello") {
    if (request["protocol"] != 1) {
      return {{"error", "this worker speaks version 1 of the protocol, not " + request["protocol"].dump()}};
    }
    if (request["device"] != "cpu") {
      return {{"error", "this worker has no device " + request["device"].dump() + ", only the CPU"}};
    }
    return handshake();
  }
  if (request["do"] == "run") {
    if (request.contains("seed")) {
      torch::manual_seed(request["seed"].get<std::uint64_t>());
    }
    return {{"id", request["id"]}, {"observation", Run(request["program"]).observed()}};
  }
  return {{"id", request["id"]}, {"error", "this worker does not know how to " + request["do"].dump()}};
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  at::set_num_threads(1);  // programs' tensors are small, and workers share the cores
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << reply(Json::parse(line)).dump() << std::endl;
  }
}
