#include "optimizers.h"

#include <torch/nn/utils/clip_grad.h>
#include <torch/optim.h>

#include <stdexcept>

namespace optim = torch::optim;

const std::map<std::string, std::vector<std::string>> OPTIMIZERS = {
    {"sgd", {"lr", "momentum", "dampening", "weight_decay", "nesterov"}},
    {"adam", {"lr", "betas", "eps", "weight_decay", "amsgrad"}},
    {"adamw", {"lr", "betas", "eps", "weight_decay", "amsgrad"}},
    {"adagrad", {"lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps"}},
    {"rmsprop", {"lr", "alpha", "eps", "weight_decay", "momentum", "centered"}},
};

namespace {

// Sets one setting of some options; each overload knows the settings of its optimizer.
void set(optim::SGDOptions& options, const std::string& name, const Attributes& a) {
  if (name == "lr") options.lr(a.real("lr"));
  else if (name == "momentum") options.momentum(a.real("momentum"));
  else if (name == "dampening") options.dampening(a.real("dampening"));
  else if (name == "weight_decay") options.weight_decay(a.real("weight_decay"));
  else if (name == "nesterov") options.nesterov(a.flag("nesterov"));
  else throw std::invalid_argument("sgd has no setting " + name);
}

template <class AdamLike>
void set_adam(AdamLike& options, const std::string& name, const Attributes& a) {
  if (name == "lr") options.lr(a.real("lr"));
  else if (name == "betas") options.betas(a.pair("betas"));
  else if (name == "eps") options.eps(a.real("eps"));
  else if (name == "weight_decay") options.weight_decay(a.real("weight_decay"));
  else if (name == "amsgrad") options.amsgrad(a.flag("amsgrad"));
  else throw std::invalid_argument("adam has no setting " + name);
}

void set(optim::AdamOptions& options, const std::string& name, const Attributes& a) { set_adam(options, name, a); }

void set(optim::AdamWOptions& options, const std::string& name, const Attributes& a) { set_adam(options, name, a); }

void set(optim::AdagradOptions& options, const std::string& name, const Attributes& a) {
  if (name == "lr") options.lr(a.real("lr"));
  else if (name == "lr_decay") options.lr_decay(a.real("lr_decay"));
  else if (name == "weight_decay") options.weight_decay(a.real("weight_decay"));
  else if (name == "initial_accumulator_value") options.initial_accumulator_value(a.real("initial_accumulator_value"));
  else if (name == "eps") options.eps(a.real("eps"));
  else throw std::invalid_argument("adagrad has no setting " + name);
}

void set(optim::RMSpropOptions& options, const std::string& name, const Attributes& a) {
  if (name == "lr") options.lr(a.real("lr"));
  else if (name == "alpha") options.alpha(a.real("alpha"));
  else if (name == "eps") options.eps(a.real("eps"));
  else if (name == "weight_decay") options.weight_decay(a.real("weight_decay"));
  else if (name == "momentum") options.momentum(a.real("momentum"));
  else if (name == "centered") options.centered(a.flag("centered"));
  else throw std::invalid_argument("rmsprop has no setting " + name);
}

template <class Options>
Options with(Options options, const Json& settings) {
  for (const auto& [name, value] : settings.items()) {
    set(options, name, Attributes(settings));
  }
  return options;
}

// An optimizer whose groups have its settings, overridden by their own.
template <class Optimizer, class Options>
std::unique_ptr<optim::Optimizer> made(const std::vector<at::Tensor>& leaves, const Json& step, Options initial) {
  const auto common = with(std::move(initial), step.value("settings", Json::object()));
  if (!step.contains("groups") || step["groups"].empty()) {
    return std::make_unique<Optimizer>(leaves, common);
  }
  std::vector<optim::OptimizerParamGroup> groups;
  auto from = leaves.begin();
  for (const auto& group : step["groups"]) {
    const auto to = from + group["leaves"].get<std::ptrdiff_t>();
    groups.emplace_back(std::vector(from, to), std::make_unique<Options>(with(common, group["settings"])));
    from = to;
  }
  return std::make_unique<Optimizer>(groups, common);
}

}  // namespace

std::unique_ptr<optim::Optimizer> made_optimizer(const std::vector<at::Tensor>& leaves, const Json& step) {
  const auto name = step["optimizer"].get<std::string>();
  if (name == "sgd") return made<optim::SGD>(leaves, step, optim::SGDOptions(1e-3));
  if (name == "adam") return made<optim::Adam>(leaves, step, optim::AdamOptions());
  if (name == "adamw") return made<optim::AdamW>(leaves, step, optim::AdamWOptions());
  if (name == "adagrad") return made<optim::Adagrad>(leaves, step, optim::AdagradOptions());
  if (name == "rmsprop") return made<optim::RMSprop>(leaves, step, optim::RMSpropOptions());
  throw std::invalid_argument("there is no optimizer " + name);
}

void clip(const std::vector<at::Tensor>& leaves, const std::string& kind, double bound) {
  if (kind == "norm") {
    torch::nn::utils::clip_grad_norm_(leaves, bound);
  } else {
    torch::nn::utils::clip_grad_value_(leaves, bound);
  }
}
