#include "run.h"

#include <cstring>
#include <optional>
#include <stdexcept>

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include "errors.h"
#include "ops.h"
#include "optimizers.h"
#include "tensors.h"

namespace {

// The fields of instructions that name values, one or several.
constexpr const char* NAMING[] = {"args",   "source", "target", "roots", "inputs",
                                  "leaves", "leaf",   "values", "value", "handle"};

// The instructions that make values.
const std::set<std::string> MAKING = {"leaf", "apply", "detach", "held"};

// The instructions after which all values are observed.
const std::set<std::string> SHOWING = {"write", "detach_in_place", "step"};

// For each instruction after which values have a gradient, the field that names these values.
const std::map<std::string, const char*> HOLDING = {
    {"retain_grad", "target"}, {"requires_grad", "target"}, {"detach_in_place", "target"}, {"held", "leaf"},
    {"assign_grad", "leaf"},   {"backward", "inputs"},      {"zero_grad", "leaves"},       {"step", "leaves"},
    {"clip", "leaves"},        {"optimizer", "leaves"},
};

// The names in a field, which may be absent, null, a name, or a list of names.
std::vector<std::string> names_in(const Json& step, const char* field) {
  const auto found = step.find(field);
  if (found == step.end() || found->is_null()) {
    return {};
  }
  return found->is_array() ? found->get<std::vector<std::string>>() : std::vector{found->get<std::string>()};
}

std::string name_of(std::size_t at, std::size_t output) {
  return "%" + std::to_string(at) + (output == 0 ? "" : "." + std::to_string(output));
}

// Whether the innermost grad mode around an instruction records; true without a grad mode.
bool is_recorded(const Json& step) {
  return !step.contains("modes") || step["modes"].empty() || step["modes"].back() == "enable_grad";
}

}  // namespace

const std::map<std::string, Run::Action> Run::ACTIONS = {
    {"leaf", &Run::leaf},
    {"apply", &Run::apply},
    {"detach", &Run::detach},
    {"write", &Run::write},
    {"detach_in_place", &Run::detach_in_place},
    {"requires_grad", &Run::requires_grad},
    {"backward", &Run::backward},
    {"retain_grad", &Run::retain_grad},
    {"hook", &Run::hook},
    {"remove_hook", &Run::remove_hook},
    {"zero_grad", &Run::zero_grad},
    {"held", &Run::held},
    {"assign_grad", &Run::assign_grad},
    {"optimizer", &Run::optimizer},
    {"step", &Run::step},
    {"clip", &Run::clip},
    {"drop", &Run::drop},
};

Run::Run(const Json& program) : instructions_(program.at("instructions")) {
  for (std::size_t at = 0; at < instructions_.size(); ++at) {
    const auto& step = instructions_[at];
    const auto word = step["do"].get<std::string>();
    if (word == "leaf") {
      holders_.insert(name_of(at, 0));
    } else if (const auto found = HOLDING.find(word); found != HOLDING.end()) {
      holders_.merge([&] {
        const auto names = names_in(step, found->second);
        return std::set<std::string>(names.begin(), names.end());
      }());
    }
  }
}

// A gradient that is differentiable and the tensor that holds it keep each other alive.
Run::~Run() {
  for (const auto& weak : holding_) {
    if (auto value = weak.lock()) {
      at::Tensor(std::move(value)).mutable_grad().reset();
    }
  }
}

Json Run::observed() {
  Json observation = Json::array();
  for (std::size_t at = 0; at < instructions_.size(); ++at) {
    observation.push_back(seen(at, instructions_[at]));
  }
  return observation;
}

Json Run::seen(std::size_t at, const Json& step) {
  if (is_skipped(step)) {
    return {{"skipped", true}};
  }
  const auto word = step["do"].get<std::string>();
  const at::AutoGradMode mode(is_recorded(step));
  Json seen = Json::object();
  try {
    const auto made = (this->*ACTIONS.at(word))(at, step);
    Json returned = Json::array();
    for (const auto& each : word == "step" ? values(step["leaves"]) : made) {
      returned.push_back(shown(each));
    }
    seen["returned"] = std::move(returned);
    for (std::size_t k = 0; k < made.size(); ++k) {
      values_.insert_or_assign(name_of(at, k), made[k]);
    }
  } catch (const std::exception& error) {
    seen["raised"] = raised(error);
  }
  look(step, seen);
  return seen;
}

bool Run::is_skipped(const Json& step) const {
  for (const auto* field : NAMING) {
    for (const auto& name : names_in(step, field)) {
      if (!values_.contains(name) && !handles_.contains(name)) {
        return true;
      }
    }
  }
  return false;
}

void Run::look(const Json& step, Json& seen) {
  const auto word = step["do"].get<std::string>();
  if (!MAKING.contains(word)) {
    seen["gradients"] = Json::object();
    for (const auto& name : holders_) {
      if (const auto found = values_.find(name); found != values_.end()) {
        seen["gradients"][name] = shown_gradient(found->second.mutable_grad());
      }
    }
  }
  if (SHOWING.contains(word)) {
    seen["values"] = Json::object();
    for (const auto& [name, value] : values_) {
      seen["values"][name] = shown(value);
    }
  }
  if (!fired_.empty()) {
    seen["fired"] = std::exchange(fired_, Json::array());
  }
  if (!mutated_.empty()) {
    seen["mutated"] = std::exchange(mutated_, Json::array());
  }
}

std::vector<at::Tensor> Run::values(const Json& names) const {
  std::vector<at::Tensor> found;
  for (const auto& name : names) {
    found.push_back(value(name));
  }
  return found;
}

Run::Made Run::leaf(std::size_t, const Json& step) {
  auto made = literal(step);
  made.requires_grad_(step.value("requires_grad", true));
  holding_.emplace_back(made.getIntrusivePtr());
  return {made};
}

Run::Made Run::apply(std::size_t, const Json& step) {
  const auto attrs = step.value("attrs", Json::object());
  return ops().at(step["op"].get<std::string>())(values(step["args"]), Attributes(attrs));
}

Run::Made Run::detach(std::size_t, const Json& step) { return {value(step["source"]).detach()}; }

Run::Made Run::write(std::size_t, const Json& step) {
  const auto attrs = step.value("attrs", Json::object());
  auto operands = values(step.value("args", Json::array()));
  operands.insert(operands.begin(), value(step["target"]));
  WRITES.at(step["op"].get<std::string>())(operands, Attributes(attrs));
  return {};
}

Run::Made Run::detach_in_place(std::size_t, const Json& step) {
  value(step["target"]).detach_();
  return {};
}

Run::Made Run::requires_grad(std::size_t, const Json& step) {
  const auto& target = value(step["target"]);
  target.requires_grad_(step.value("on", true));
  holding_.emplace_back(target.getIntrusivePtr());
  return {};
}

// Whether two tensors, as `literal` makes them, have the same bytes; NaN is not equal to itself.
static bool same_bytes(const at::Tensor& left, const at::Tensor& right) {
  return left.sizes() == right.sizes() && std::memcmp(left.data_ptr(), right.data_ptr(), left.nbytes()) == 0;
}

// Tensor::backward for one root, torch::autograd::backward for several.
Run::Made Run::backward(std::size_t, const Json& step) {
  const auto roots = values(step["roots"]);
  std::vector<at::Tensor> cotangents, before;
  for (const auto& form : step["cotangents"]) {
    cotangents.push_back(form.is_null() ? at::Tensor() : literal(form));
    before.push_back(form.is_null() ? at::Tensor() : literal(form));
  }
  const auto option = step.value("retain_graph", Json());
  const auto retain = option.is_null() ? std::nullopt : std::make_optional(option.get<bool>());
  const bool create = step.value("create_graph", false);
  const auto restricted = step.value("inputs", Json());
  const auto inputs = restricted.is_null() ? std::vector<at::Tensor>() : values(restricted);
  for (const auto& each : inputs) {
    holding_.emplace_back(each.getIntrusivePtr());
  }
  const auto note_mutated = [&] {
    for (std::size_t k = 0; k < cotangents.size(); ++k) {
      if (cotangents[k].defined() && !same_bytes(cotangents[k], before[k])) {
        mutated_.push_back(k);
      }
    }
  };
  try {
    if (roots.size() == 1) {
      const auto only = restricted.is_null() ? std::nullopt : std::make_optional<at::TensorList>(inputs);
      roots[0].backward(cotangents[0], retain, create, only);
    } else {
      torch::autograd::backward(roots, cotangents, retain, create, inputs);
    }
  } catch (...) {
    note_mutated();
    throw;
  }
  note_mutated();
  return {};
}

Run::Made Run::retain_grad(std::size_t, const Json& step) {
  const auto& target = value(step["target"]);
  target.retain_grad();
  holding_.emplace_back(target.getIntrusivePtr());
  return {};
}

Run::Made Run::hook(std::size_t at, const Json& step) {
  const auto name = name_of(at, 0);
  const auto effect = step.value("effect", "observe");
  const double factor = step.contains("factor") ? number(step["factor"]) : 1.0;
  const auto function = [this, name, effect, factor](const at::Tensor& gradient) -> at::Tensor {
    fired_.push_back({{"hook", name}, {"gradient", gradient.defined() ? elements(gradient) : Json()}});
    if (effect == "raise") {
      throw HookRaised();
    }
    if (!gradient.defined() || effect == "observe") {
      return {};
    }
    if (effect == "scale") {
      return gradient * factor;
    }
    if (effect == "replace") {
      return at::full_like(gradient, factor);
    }
    auto shape = gradient.sizes().vec();
    shape.push_back(2);
    return gradient.new_ones(shape);
  };
  const auto& target = value(step["target"]);
  handles_.emplace(name, Handle{target, target.register_hook(function)});
  return {};
}

Run::Made Run::remove_hook(std::size_t, const Json& step) {
  const auto& handle = handles_.at(step["handle"].get<std::string>());
  handle.value.remove_hook(handle.position);
  return {};
}

// Clears the leaves' gradients through the optimizer of exactly these leaves, if there is one.
Run::Made Run::zero_grad(std::size_t at, const Json& step) {
  const bool to_none = step.value("set_to_none", true);
  for (std::size_t earlier = at; earlier-- > 0;) {
    const auto& other = instructions_[earlier];
    if (other["do"] == "optimizer" && other["leaves"] == step["leaves"]) {
      optimizer_of(other).zero_grad(to_none);
      return {};
    }
  }
  for (const auto& leaf : values(step["leaves"])) {
    auto& gradient = leaf.mutable_grad();
    if (to_none) {
      gradient.reset();
    } else if (gradient.defined()) {
      gradient.zero_();
    }
  }
  return {};
}

Run::Made Run::held(std::size_t, const Json& step) {
  const auto& gradient = value(step["leaf"]).mutable_grad();
  if (!gradient.defined()) {
    throw std::logic_error("the leaf holds no gradient");
  }
  return {gradient};
}

Run::Made Run::assign_grad(std::size_t, const Json& step) {
  value(step["leaf"]).mutable_grad() = step["value"].is_null() ? at::Tensor() : value(step["value"]);
  return {};
}

// An optimizer with the same fields as an earlier one is the earlier one.
torch::optim::Optimizer& Run::optimizer_of(const Json& step) {
  const Json key = {step["leaves"], step["optimizer"], step.value("settings", Json()), step.value("groups", Json())};
  auto& made = optimizers_[key.dump()];
  if (made == nullptr) {
    made = made_optimizer(values(step["leaves"]), step);
  }
  return *made;
}

Run::Made Run::optimizer(std::size_t, const Json& step) {
  optimizer_of(step);
  return {};
}

Run::Made Run::step(std::size_t, const Json& step) {
  optimizer_of(step).step();
  return {};
}

Run::Made Run::clip(std::size_t, const Json& step) {
  ::clip(values(step["leaves"]), step["kind"], number(step["bound"]));
  return {};
}

Run::Made Run::drop(std::size_t, const Json& step) {
  for (const auto& name : names_in(step, "values")) {
    values_.erase(name);
  }
  return {};
}
