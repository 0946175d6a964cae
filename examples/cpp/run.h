// One run of one program: the outcome of each of its instructions on libtorch.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <torch/optim/optimizer.h>

#include "attributes.h"

class Run {
 public:
  explicit Run(const Json& program);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run();

  // The observation of the program.
  Json observed();

 private:
  struct Handle {
    at::Tensor value;
    unsigned position;
  };
  using Made = std::vector<at::Tensor>;
  using Action = Made (Run::*)(std::size_t at, const Json& step);

  static const std::map<std::string, Action> ACTIONS;

  Json seen(std::size_t at, const Json& step);
  bool is_skipped(const Json& step) const;
  void look(const Json& step, Json& seen);

  Made leaf(std::size_t at, const Json& step);
  Made apply(std::size_t at, const Json& step);
  Made detach(std::size_t at, const Json& step);
  Made write(std::size_t at, const Json& step);
  Made detach_in_place(std::size_t at, const Json& step);
  Made requires_grad(std::size_t at, const Json& step);
  Made backward(std::size_t at, const Json& step);
  Made retain_grad(std::size_t at, const Json& step);
  Made hook(std::size_t at, const Json& step);
  Made remove_hook(std::size_t at, const Json& step);
  Made zero_grad(std::size_t at, const Json& step);
  Made held(std::size_t at, const Json& step);
  Made assign_grad(std::size_t at, const Json& step);
  Made optimizer(std::size_t at, const Json& step);
  Made step(std::size_t at, const Json& step);
  Made clip(std::size_t at, const Json& step);
  Made drop(std::size_t at, const Json& step);

  const at::Tensor& value(const Json& name) const { return values_.at(name.get_ref<const std::string&>()); }
  std::vector<at::Tensor> values(const Json& names) const;
  torch::optim::Optimizer& optimizer_of(const Json& step);

  const Json& instructions_;
  // The values that may have a gradient.
  std::set<std::string> holders_;
  std::map<std::string, at::Tensor> values_;
  std::map<std::string, Handle> handles_;
  std::map<std::string, std::unique_ptr<torch::optim::Optimizer>> optimizers_;
  // All values that retain gradients, also those that the program has deleted.
  std::vector<c10::weak_intrusive_ptr<c10::TensorImpl>> holding_;
  Json fired_ = Json::array();
  Json mutated_ = Json::array();
};
