#include "attributes.h"

#include <limits>
#include <stdexcept>

double number(const Json& form) {
  if (form.is_number()) {
    return form.get<double>();
  }
  const auto text = form.get<std::string>();
  if (text == "inf") {
    return std::numeric_limits<double>::infinity();
  }
  if (text == "-inf") {
    return -std::numeric_limits<double>::infinity();
  }
  if (text == "nan") {
    return std::numeric_limits<double>::quiet_NaN();
  }
  throw std::invalid_argument(text + " is no number");
}

namespace {

// An attribute that is a float is written {"float": 1.5}, so that it is told from a whole number.
double real_of(const Json& form) {
  return number(form.is_object() ? form.at("float") : form);
}

at::Scalar scalar_of(const Json& form) {
  return form.is_object() ? at::Scalar(real_of(form)) : at::Scalar(form.get<std::int64_t>());
}

void flatten(const Json& form, std::vector<double>& elements) {
  if (form.is_array()) {
    for (const auto& each : form) {
      flatten(each, elements);
    }
  } else {
    elements.push_back(form.is_boolean() ? form.get<bool>() : real_of(form));
  }
}

at::Tensor tensor_of(const Json& form, at::ScalarType dtype) {
  std::vector<std::int64_t> shape;
  for (const Json* at = &form; at->is_array(); at = &at->front()) {
    shape.push_back(static_cast<std::int64_t>(at->size()));
    if (at->empty()) {
      break;
    }
  }
  std::vector<double> elements;
  flatten(form, elements);
  return at::tensor(elements, at::kDouble).reshape(shape).to(dtype);
}

}  // namespace

bool Attributes::flag(const char* name) const { return form_.at(name).get<bool>(); }

double Attributes::real(const char* name) const { return real_of(form_.at(name)); }

std::int64_t Attributes::whole(const char* name) const { return form_.at(name).get<std::int64_t>(); }

std::string Attributes::text(const char* name) const { return form_.at(name).get<std::string>(); }

at::Scalar Attributes::scalar(const char* name) const { return scalar_of(form_.at(name)); }

std::optional<at::Scalar> Attributes::scalar_or_none(const char* name) const {
  const auto& form = form_.at(name);
  return form.is_null() ? std::nullopt : std::make_optional(scalar_of(form));
}

std::vector<std::int64_t> Attributes::wholes(const char* name) const {
  const auto& form = form_.at(name);
  if (form.is_null()) {
    return {};
  }
  return form.is_array() ? form.get<std::vector<std::int64_t>>() : std::vector{form.get<std::int64_t>()};
}

std::tuple<double, double> Attributes::pair(const char* name) const {
  const auto& form = form_.at(name);
  return {real_of(form.at(0)), real_of(form.at(1))};
}

at::Tensor Attributes::indices(const char* name) const { return tensor_of(form_.at(name), at::kLong); }

at::Tensor Attributes::mask(const char* name) const { return tensor_of(form_.at(name), at::kBool); }

at::Tensor Attributes::constants(const char* name, at::ScalarType dtype) const {
  return tensor_of(form_.at(name), dtype);
}
