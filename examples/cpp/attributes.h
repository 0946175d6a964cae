// The attributes of an op, by name, converted to the types that libtorch takes.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

using Json = nlohmann::json;

// A number as programs write it: a JSON number, or "inf", "-inf", "nan".
double number(const Json& form);

class Attributes {
 public:
  explicit Attributes(const Json& form) : form_(form) {}

  bool flag(const char* name) const;
  double real(const char* name) const;
  std::int64_t whole(const char* name) const;
  std::string text(const char* name) const;
  at::Scalar scalar(const char* name) const;
  std::optional<at::Scalar> scalar_or_none(const char* name) const;
  // A list of whole numbers; a single number is a list of one, null an empty list.
  std::vector<std::int64_t> wholes(const char* name) const;
  // Two real numbers.
  std::tuple<double, double> pair(const char* name) const;
  // Nested lists as a tensor: of indices, of a mask, of constants.
  at::Tensor indices(const char* name) const;
  at::Tensor mask(const char* name) const;
  at::Tensor constants(const char* name, at::ScalarType dtype) const;

 private:
  const Json& form_;
};
