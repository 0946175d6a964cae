// torch::optim, by the names and settings that programs use.

#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <torch/optim/optimizer.h>

#include "attributes.h"

// The supported optimizers, each with the settings of its options.
extern const std::map<std::string, std::vector<std::string>> OPTIMIZERS;

// The optimizer of a `step` or `optimizer` instruction whose leaves are `leaves`.
std::unique_ptr<torch::optim::Optimizer> made_optimizer(const std::vector<at::Tensor>& leaves, const Json& step);

// Clips the gradients of leaves.
void clip(const std::vector<at::Tensor>& leaves, const std::string& kind, double bound);
