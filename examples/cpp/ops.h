// The ops of the catalogue that libtorch has, each as one call of its C++ interface.

#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <ATen/ATen.h>

#include "attributes.h"

using Operands = std::vector<at::Tensor>;
using Results = std::vector<at::Tensor>;
using Op = Results (*)(const Operands&, const Attributes&);
using Write = void (*)(Operands, const Attributes&);
using Ops = std::map<std::string, Op>;
using Writes = std::map<std::string, Write>;

inline Results results(at::Tensor one) { return {std::move(one)}; }
inline Results results(std::vector<at::Tensor> several) { return several; }
inline Results results(std::tuple<at::Tensor, at::Tensor> two) {
  return {std::get<0>(std::move(two)), std::get<1>(std::move(two))};
}

// A row of a table: `x` are the operands, `a` the attributes.
#define OP(...) \
  [](const Operands& x, [[maybe_unused]] const Attributes& a) -> Results { return results(__VA_ARGS__); }
#define WRITE(...) [](Operands x, [[maybe_unused]] const Attributes& a) { __VA_ARGS__; }

extern const Ops ELEMENTWISE, MANIPULATION, REDUCTIONS, PRODUCTS, LAYERS, RANDOM;
extern const Writes WRITES;

// All of the tables of ops, as one.
const Ops& ops();
