// Layers and losses, by torch::nn::functional, whose C++ implementation is separate from Python's.

#include <torch/nn/functional.h>
#include <torch/utils.h>

#include "ops.h"

namespace F = torch::nn::functional;

namespace {

// The option of a loss that names its reduction.
template <class Options>
Options reduced(Options options, const Attributes& a) {
  const auto name = a.text("reduction");
  if (name == "mean") {
    return options.reduction(torch::kMean);
  }
  if (name == "sum") {
    return options.reduction(torch::kSum);
  }
  return options.reduction(torch::kNone);
}

at::Tensor layer_norm(const Operands& x, const Attributes& a) {
  F::LayerNormFuncOptions options(a.wholes("normalized_shape"));
  options.eps(a.real("eps"));
  return F::layer_norm(x[0], x.size() > 1 ? options.weight(x[1]).bias(x[2]) : options);
}

at::Tensor batch_norm(const Operands& x, const Attributes& a) {
  auto options = F::BatchNormFuncOptions().training(true).eps(a.real("eps"));
  return F::batch_norm(x[0], {}, {}, x.size() > 1 ? options.weight(x[1]).bias(x[2]) : options);
}

at::Tensor batch_norm_running(const Operands& x, const Attributes& a) {
  auto options = F::BatchNormFuncOptions().eps(a.real("eps"));
  const auto dtype = x[0].scalar_type();
  return F::batch_norm(
      x[0], a.constants("mean", dtype), a.constants("var", dtype),
      x.size() > 1 ? options.weight(x[1]).bias(x[2]) : options);
}

at::Tensor group_norm(const Operands& x, const Attributes& a) {
  auto options = F::GroupNormFuncOptions(a.whole("num_groups")).eps(a.real("eps"));
  return F::group_norm(x[0], x.size() > 1 ? options.weight(x[1]).bias(x[2]) : options);
}

template <class Options>
Options convolving(const Operands& x, const Attributes& a) {
  auto options = Options().stride(a.whole("stride")).groups(a.whole("groups"));
  return x.size() > 2 ? options.bias(x[2]) : options;
}

template <class Options>
Options convolving_dilated(const Operands& x, const Attributes& a) {
  return convolving<Options>(x, a).padding(a.whole("padding")).dilation(a.whole("dilation"));
}

template <class Options>
Options pooling(const Attributes& a) {
  return Options(a.whole("kernel_size")).stride(a.whole("stride")).padding(a.whole("padding"));
}

std::tuple<at::Tensor, at::Tensor> gru(const Operands& x, const Attributes& a, bool bidirectional) {
  const auto initial = x[0].new_zeros({bidirectional ? 2 : 1, x[0].size(1), a.whole("hidden")});
  return at::gru(x[0], initial, Operands(x.begin() + 1, x.end()), true, 1, 0.0, false, bidirectional, false);
}

at::Tensor seeded_dropout(const at::Tensor& x, const Attributes& a) {
  torch::manual_seed(a.whole("seed"));
  return F::dropout(x, F::DropoutFuncOptions().p(a.real("p")));
}

at::Tensor seeded(at::Tensor (*draw)(const at::Tensor&), const at::Tensor& x, const Attributes& a) {
  torch::manual_seed(a.whole("seed"));
  return draw(x);
}

}  // namespace

const Ops LAYERS = {
    {"softsign", OP(F::softsign(x[0]))},
    {"tanhshrink", OP(F::tanhshrink(x[0]))},
    {"softmax", OP(F::softmax(x[0], F::SoftmaxFuncOptions(a.whole("dim"))))},
    {"log_softmax", OP(F::log_softmax(x[0], F::LogSoftmaxFuncOptions(a.whole("dim"))))},
    {"softmin", OP(F::softmin(x[0], F::SoftminFuncOptions(a.whole("dim"))))},

    {"cross_entropy",
     OP(F::cross_entropy(
         x[0], a.indices("target"),
         reduced(F::CrossEntropyFuncOptions(), a).label_smoothing(a.real("label_smoothing"))))},
    {"cross_entropy_soft", OP(F::cross_entropy(x[0], x[1], reduced(F::CrossEntropyFuncOptions(), a)))},
    {"nll_loss", OP(F::nll_loss(x[0], a.indices("target"), reduced(F::NLLLossFuncOptions(), a)))},
    {"mse_loss", OP(F::mse_loss(x[0], x[1], reduced(F::MSELossFuncOptions(), a)))},
    {"l1_loss", OP(F::l1_loss(x[0], x[1], reduced(F::L1LossFuncOptions(), a)))},
    {"huber_loss", OP(F::huber_loss(x[0], x[1], reduced(F::HuberLossFuncOptions(), a).delta(a.real("delta"))))},
    {"smooth_l1_loss",
     OP(F::smooth_l1_loss(x[0], x[1], reduced(F::SmoothL1LossFuncOptions(), a).beta(a.real("beta"))))},
    {"kl_div", OP(F::kl_div(x[0], x[1], reduced(F::KLDivFuncOptions(), a)))},
    {"kl_div_log", OP(F::kl_div(x[0], x[1], reduced(F::KLDivFuncOptions(), a).log_target(true)))},
    {"binary_cross_entropy",
     OP(F::binary_cross_entropy(x[0], x[1], reduced(F::BinaryCrossEntropyFuncOptions(), a)))},
    {"bce_with_logits",
     OP(F::binary_cross_entropy_with_logits(x[0], x[1], reduced(F::BinaryCrossEntropyWithLogitsFuncOptions(), a)))},
    {"poisson_nll_loss", OP(F::poisson_nll_loss(x[0], x[1], reduced(F::PoissonNLLLossFuncOptions(), a)))},
    {"soft_margin_loss",
     OP(F::soft_margin_loss(
         x[0], a.constants("target", x[0].scalar_type()), reduced(F::SoftMarginLossFuncOptions(), a)))},
    {"cosine_similarity",
     OP(F::cosine_similarity(x[0], x[1], F::CosineSimilarityFuncOptions().dim(a.whole("dim"))))},

    {"layer_norm", OP(layer_norm(x, a))},
    {"layer_norm_affine", OP(layer_norm(x, a))},
    {"rms_norm", OP(at::rms_norm(x[0], a.wholes("normalized_shape"), {}, a.real("eps")))},
    {"rms_norm_affine", OP(at::rms_norm(x[0], a.wholes("normalized_shape"), x[1], a.real("eps")))},
    {"batch_norm", OP(batch_norm(x, a))},
    {"batch_norm_affine", OP(batch_norm(x, a))},
    {"batch_norm_running", OP(batch_norm_running(x, a))},
    {"batch_norm_running_affine", OP(batch_norm_running(x, a))},
    {"group_norm", OP(group_norm(x, a))},
    {"group_norm_affine", OP(group_norm(x, a))},
    {"instance_norm", OP(F::instance_norm(x[0], F::InstanceNormFuncOptions().eps(a.real("eps"))))},
    {"normalize", OP(F::normalize(x[0], F::NormalizeFuncOptions().dim(a.whole("dim"))))},

    {"conv1d", OP(F::conv1d(x[0], x[1], convolving_dilated<F::Conv1dFuncOptions>(x, a)))},
    {"conv1d_bias", OP(F::conv1d(x[0], x[1], convolving_dilated<F::Conv1dFuncOptions>(x, a)))},
    {"conv2d", OP(F::conv2d(x[0], x[1], convolving_dilated<F::Conv2dFuncOptions>(x, a)))},
    {"conv2d_bias", OP(F::conv2d(x[0], x[1], convolving_dilated<F::Conv2dFuncOptions>(x, a)))},
    {"conv_transpose1d",
     OP(F::conv_transpose1d(
         x[0], x[1],
         convolving<F::ConvTranspose1dFuncOptions>(x, a)
             .padding(a.whole("padding"))
             .output_padding(a.whole("output_padding"))))},
    {"avg_pool1d", OP(F::avg_pool1d(x[0], pooling<F::AvgPool1dFuncOptions>(a)))},
    {"avg_pool2d", OP(F::avg_pool2d(x[0], pooling<F::AvgPool2dFuncOptions>(a)))},
    {"max_pool1d", OP(F::max_pool1d(x[0], pooling<F::MaxPool1dFuncOptions>(a)))},
    {"max_pool2d", OP(F::max_pool2d(x[0], pooling<F::MaxPool2dFuncOptions>(a)))},
    {"lp_pool1d",
     OP(F::lp_pool1d(x[0], F::LPPool1dFuncOptions(2.0, a.whole("kernel_size")).stride(a.whole("stride"))))},
    {"adaptive_avg_pool1d",
     OP(F::adaptive_avg_pool1d(x[0], F::AdaptiveAvgPool1dFuncOptions(a.whole("output_size"))))},

    {"gru", OP(gru(x, a, /*bidirectional=*/false))},
    {"gru_bidirectional", OP(gru(x, a, /*bidirectional=*/true))},
};

const Ops RANDOM = {
    {"dropout_mask", OP(seeded_dropout(at::ones_like(x[0]), a))},
    {"random_normal", OP(seeded([](const at::Tensor& like) { return at::randn_like(like); }, x[0], a))},
    {"random_uniform", OP(seeded([](const at::Tensor& like) { return at::rand_like(like); }, x[0], a))},
    {"dropout", OP(seeded_dropout(x[0], a))},
};
