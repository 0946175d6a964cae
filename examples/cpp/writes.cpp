// Ops in place: the first operand becomes the result.

#include <ATen/TensorIndexing.h>

#include "ops.h"

using at::indexing::Ellipsis;
using at::indexing::Slice;

namespace {

// The columns of an assignment: {start}:{stop} of the last dimension, everything of the others.
void set_columns(Operands& x, const Attributes& a, std::int64_t step) {
  x[0].index_put_({Ellipsis, Slice(a.whole("start"), a.whole("stop"), step)}, x[1]);
}

Slice rows(const Attributes& a) { return Slice(a.whole("start"), a.whole("stop"), a.whole("step")); }

}  // namespace

const Writes WRITES = {
    {"abs_", WRITE(x[0].abs_())},
    {"reciprocal_", WRITE(x[0].reciprocal_())},
    {"square_", WRITE(x[0].square_())},
    {"sqrt_", WRITE(x[0].sqrt_())},
    {"rsqrt_", WRITE(x[0].rsqrt_())},
    {"clamp_", WRITE(x[0].clamp_(a.scalar_or_none("min"), a.scalar_or_none("max")))},
    {"exp_", WRITE(x[0].exp_())},
    {"exp2_", WRITE(x[0].exp2_())},
    {"expm1_", WRITE(x[0].expm1_())},
    {"log_", WRITE(x[0].log_())},
    {"log2_", WRITE(x[0].log2_())},
    {"log10_", WRITE(x[0].log10_())},
    {"log1p_", WRITE(x[0].log1p_())},
    {"sigmoid_", WRITE(x[0].sigmoid_())},
    {"logit_", WRITE(x[0].logit_())},
    {"sin_", WRITE(x[0].sin_())},
    {"cos_", WRITE(x[0].cos_())},
    {"tan_", WRITE(x[0].tan_())},
    {"asin_", WRITE(x[0].asin_())},
    {"acos_", WRITE(x[0].acos_())},
    {"atan_", WRITE(x[0].atan_())},
    {"sinh_", WRITE(x[0].sinh_())},
    {"cosh_", WRITE(x[0].cosh_())},
    {"tanh_", WRITE(x[0].tanh_())},
    {"sinc_", WRITE(x[0].sinc_())},
    {"deg2rad_", WRITE(x[0].deg2rad_())},
    {"erf_", WRITE(x[0].erf_())},
    {"erfc_", WRITE(x[0].erfc_())},
    {"erfinv_", WRITE(x[0].erfinv_())},
    {"lgamma_", WRITE(x[0].lgamma_())},
    {"digamma_", WRITE(x[0].digamma_())},
    {"sign_", WRITE(x[0].sign_())},
    {"floor_", WRITE(x[0].floor_())},
    {"ceil_", WRITE(x[0].ceil_())},
    {"round_", WRITE(x[0].round_())},
    {"frac_", WRITE(x[0].frac_())},
    {"neg_", WRITE(x[0].neg_())},

    {"add_", WRITE(x[0].add_(x[1]))},
    {"add_scalar_", WRITE(x[0].add_(a.scalar("scalar")))},
    {"add_scaled_", WRITE(x[0].add_(x[1], a.scalar("alpha")))},
    {"sub_", WRITE(x[0].sub_(x[1]))},
    {"sub_scalar_", WRITE(x[0].sub_(a.scalar("scalar")))},
    {"sub_scaled_", WRITE(x[0].sub_(x[1], a.scalar("alpha")))},
    {"mul_", WRITE(x[0].mul_(x[1]))},
    {"mul_scalar_", WRITE(x[0].mul_(a.scalar("scalar")))},
    {"div_", WRITE(x[0].div_(x[1]))},
    {"div_scalar_", WRITE(x[0].div_(a.scalar("scalar")))},
    {"pow_", WRITE(x[0].pow_(x[1]))},
    {"pow_scalar_", WRITE(x[0].pow_(a.scalar("exponent")))},
    {"pow_integer_", WRITE(x[0].pow_(a.scalar("exponent")))},
    {"atan2_", WRITE(x[0].atan2_(x[1]))},
    {"hypot_", WRITE(x[0].hypot_(x[1]))},
    {"xlogy_", WRITE(x[0].xlogy_(x[1]))},
    {"copysign_", WRITE(x[0].copysign_(x[1]))},
    {"lerp_", WRITE(x[0].lerp_(x[1], x[2]))},
    {"lerp_scalar_", WRITE(x[0].lerp_(x[1], a.scalar("weight")))},
    {"addcmul_", WRITE(x[0].addcmul_(x[1], x[2], a.scalar("value")))},
    {"addcdiv_", WRITE(x[0].addcdiv_(x[1], x[2], a.scalar("value")))},
    {"clamp_min_", WRITE(x[0].clamp_min_(x[1]))},
    {"clamp_max_", WRITE(x[0].clamp_max_(x[1]))},
    {"cumsum_", WRITE(x[0].cumsum_(a.whole("dim")))},
    {"cumprod_", WRITE(x[0].cumprod_(a.whole("dim")))},
    {"tril_", WRITE(x[0].tril_(a.whole("diagonal")))},
    {"triu_", WRITE(x[0].triu_(a.whole("diagonal")))},
    {"addmm_", WRITE(x[0].addmm_(x[1], x[2], a.scalar("beta"), a.scalar("alpha")))},
    {"addmv_", WRITE(x[0].addmv_(x[1], x[2], a.scalar("beta"), a.scalar("alpha")))},
    {"addr_", WRITE(x[0].addr_(x[1], x[2], a.scalar("beta"), a.scalar("alpha")))},
    {"baddbmm_", WRITE(x[0].baddbmm_(x[1], x[2], a.scalar("beta"), a.scalar("alpha")))},

    {"relu_", WRITE(x[0].relu_())},
    {"relu6_", WRITE(at::relu6_(x[0]))},
    {"leaky_relu_", WRITE(at::leaky_relu_(x[0], a.scalar("slope")))},
    {"elu_", WRITE(at::elu_(x[0], a.scalar("alpha")))},
    {"celu_", WRITE(at::celu_(x[0], a.scalar("alpha")))},
    {"selu_", WRITE(at::selu_(x[0]))},
    {"silu_", WRITE(at::silu_(x[0]))},
    {"mish_", WRITE(at::mish_(x[0]))},
    {"hardtanh_", WRITE(at::hardtanh_(x[0]))},
    {"hardsigmoid_", WRITE(at::hardsigmoid_(x[0]))},
    {"hardswish_", WRITE(at::hardswish_(x[0]))},
    {"threshold_", WRITE(at::threshold_(x[0], a.scalar("threshold"), a.scalar("value")))},

    {"scatter_", WRITE(x[0].scatter_(a.whole("dim"), a.indices("index"), x[1]))},
    {"scatter_add_", WRITE(x[0].scatter_add_(a.whole("dim"), a.indices("index"), x[1]))},
    {"index_add_", WRITE(x[0].index_add_(a.whole("dim"), a.indices("index"), x[1]))},
    {"index_copy_", WRITE(x[0].index_copy_(a.whole("dim"), a.indices("index"), x[1]))},
    {"index_fill_", WRITE(x[0].index_fill_(a.whole("dim"), a.indices("index"), a.scalar("value")))},
    {"masked_fill_", WRITE(x[0].masked_fill_(a.mask("mask"), a.scalar("value")))},
    {"masked_scatter_", WRITE(x[0].masked_scatter_(a.mask("mask"), x[1]))},
    {"index_put_",
     WRITE(c10::List<std::optional<at::Tensor>> at{a.indices("index")}; x[0].index_put_(at, x[1], /*accumulate=*/true))},

    {"copy_", WRITE(x[0].copy_(x[1]))},
    {"zero_", WRITE(x[0].zero_())},
    {"fill_", WRITE(x[0].fill_(a.scalar("value")))},
    {"fill_tensor_", WRITE(x[0].fill_(x[1]))},
    {"fill_diagonal_", WRITE(x[0].fill_diagonal_(a.scalar("value")))},
    {"set_index_", WRITE(x[0].index_put_({a.whole("index")}, x[1]))},
    {"set_index_fill_", WRITE(x[0].index_put_({a.whole("index")}, a.scalar("value")))},
    {"set_slice_", WRITE(x[0].index_put_({rows(a)}, x[1]))},
    {"set_slice_fill_", WRITE(x[0].index_put_({rows(a)}, a.scalar("value")))},
    {"set_columns_", WRITE(set_columns(x, a, 1))},
    {"set_steps_", WRITE(set_columns(x, a, a.whole("step")))},
    {"set_elements_", WRITE(x[0].index_put_({a.mask("mask")}, x[1]))},
    {"set_points_", WRITE(x[0].index_put_({a.indices("rows"), a.indices("columns")}, x[1]))},
    {"set_diagonal_", WRITE(x[0].diagonal(a.whole("offset")).index_put_({Slice()}, x[1]))},
    {"set_mask_", WRITE(x[0].index_put_({a.mask("mask")}, x[1]))},
    {"set_mask_fill_", WRITE(x[0].index_put_({a.mask("mask")}, a.scalar("value")))},
    {"set_rows_", WRITE(x[0].index_put_({a.indices("index")}, x[1]))},
    {"add_index_", WRITE(x[0][a.whole("index")] += x[1])},
    {"mul_index_", WRITE(x[0][a.whole("index")] *= x[1])},
};
