// torch::optim by the names and settings that programs use.

#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <torch/optim/optimizer.h>

#include "attributes.h"

// The optimizers that there are, each with the settings that its options have.
extern const std::map<std::string, std::vector<std::string>> OPTIMIZERS;

// The optimizer of a `step` or `optimizer` instruction whose leaves are `leaves`.
std::unique_ptr<torch::optim::Optimizer> made_optimizer(const std::vector<at::Tensor>& leaves, const Json& step);

// Clips the gradients that leaves hold.
void clip(const std::vector<at::Tensor>& leaves, const std::string& kind, double bound);
