// Ops that reduce dimensions, or accumulate along them.

#include <limits>

#include "ops.h"

const Ops REDUCTIONS = {
    {"sum", OP(at::sum(x[0], a.wholes("dim"), a.flag("keepdim")))},
    {"mean", OP(at::mean(x[0], a.wholes("dim"), a.flag("keepdim")))},
    {"prod", OP(at::prod(x[0]))},
    {"prod_dim", OP(at::prod(x[0], a.whole("dim"), a.flag("keepdim")))},
    {"logsumexp", OP(at::logsumexp(x[0], a.wholes("dim"), a.flag("keepdim")))},
    {"var", OP(at::var(x[0], a.wholes("dim"), a.scalar("correction"), a.flag("keepdim")))},
    {"std", OP(at::std(x[0], a.wholes("dim"), a.scalar("correction"), a.flag("keepdim")))},
    {"var_mean", OP(at::var_mean(x[0], a.wholes("dim"), a.scalar("correction"), a.flag("keepdim")))},
    {"std_mean", OP(at::std_mean(x[0], a.wholes("dim"), a.scalar("correction"), a.flag("keepdim")))},
    {"max", OP(at::max(x[0]))},
    {"min", OP(at::min(x[0]))},
    {"amax", OP(at::amax(x[0], a.wholes("dim"), a.flag("keepdim")))},
    {"amin", OP(at::amin(x[0], a.wholes("dim"), a.flag("keepdim")))},
    {"max_dim", OP(std::get<0>(at::max(x[0], a.whole("dim"), a.flag("keepdim"))))},
    {"min_dim", OP(std::get<0>(at::min(x[0], a.whole("dim"), a.flag("keepdim"))))},
    {"aminmax", OP(at::aminmax(x[0], a.whole("dim"), a.flag("keepdim")))},
    {"median", OP(at::median(x[0]))},
    {"median_dim", OP(std::get<0>(at::median(x[0], a.whole("dim"), a.flag("keepdim"))))},
    {"kthvalue", OP(std::get<0>(at::kthvalue(x[0], a.whole("k"), a.whole("dim"), a.flag("keepdim"))))},
    {"topk", OP(std::get<0>(at::topk(x[0], a.whole("k"), a.whole("dim"), a.flag("largest"))))},
    {"sort", OP(std::get<0>(at::sort(x[0], a.whole("dim"), a.flag("descending"))))},
    {"vector_norm", OP(at::linalg_vector_norm(x[0], a.scalar("ord"), a.wholes("dim"), a.flag("keepdim")))},
    {"vector_norm_inf",
     OP(at::linalg_vector_norm(
         x[0], std::numeric_limits<double>::infinity(), a.wholes("dim"), a.flag("keepdim")))},

    {"cumulative_sum", OP(at::cumsum(x[0], a.whole("dim")))},
    {"cumulative_prod", OP(at::cumprod(x[0], a.whole("dim")))},
    {"logcumsumexp", OP(at::logcumsumexp(x[0], a.whole("dim")))},
    {"cummax", OP(std::get<0>(at::cummax(x[0], a.whole("dim"))))},
    {"cummin", OP(std::get<0>(at::cummin(x[0], a.whole("dim"))))},
    {"diff", OP(at::diff(x[0], a.whole("n"), a.whole("dim")))},
};
