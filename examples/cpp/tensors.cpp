#include "tensors.h"

#include <cmath>
#include <stdexcept>

#include <ATen/core/grad_mode.h>

namespace {

Json written(double x) {
  if (std::isfinite(x)) {
    return x;
  }
  return std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
}

template <class Element>
Json list_of(const at::Tensor& flat) {
  Json list = Json::array();
  const auto* data = flat.const_data_ptr<Element>();
  for (std::int64_t k = 0; k < flat.numel(); ++k) {
    list.push_back(written(data[k]));
  }
  return list;
}

template <class Element>
void fill(const at::Tensor& made, const Json& data) {
  auto* to = made.mutable_data_ptr<Element>();
  for (const auto& each : data) {
    *to++ = static_cast<Element>(number(each));
  }
}

std::int64_t address(const void* memory) { return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(memory)); }

// Some derivatives are tensors of zeros that have no memory at all.
bool has_memory(const at::Tensor& value) { return value.numel() > 0 && !value._is_zerotensor(); }

}  // namespace

at::Tensor literal(const Json& form) {
  const auto shape = form["shape"].get<std::vector<std::int64_t>>();
  if (form["dtype"] == "float32") {
    auto made = at::empty(shape, at::kFloat);
    fill<float>(made, form["data"]);
    return made;
  }
  auto made = at::empty(shape, at::kDouble);
  fill<double>(made, form["data"]);
  return made;
}

Json elements(const at::Tensor& value) {
  const at::NoGradGuard looking;
  const auto flat = (value._is_zerotensor() ? value.clone() : value).detach().contiguous();
  switch (value.scalar_type()) {
    case at::kFloat:
      return {{"shape", value.sizes()}, {"dtype", "float32"}, {"data", list_of<float>(flat)}};
    case at::kDouble:
      return {{"shape", value.sizes()}, {"dtype", "float64"}, {"data", list_of<double>(flat)}};
    default:
      throw std::runtime_error(std::string("a result of dtype ") + c10::toString(value.scalar_type()));
  }
}

Json shown(const at::Tensor& value) {
  auto form = elements(value);
  form["requires_grad"] = value.requires_grad();
  form["strides"] = value.strides();
  if (has_memory(value)) {
    form["memory"] = address(value.storage().data());
  }
  return form;
}

Json shown_gradient(const at::Tensor& gradient) {
  if (!gradient.defined()) {
    return nullptr;
  }
  auto form = shown(gradient);
  form["identity"] = address(gradient._is_zerotensor() ? gradient.unsafeGetTensorImpl() : gradient.const_data_ptr());
  return form;
}
