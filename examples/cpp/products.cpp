// Products of matrices and vectors, and linear algebra.

#include <numeric>

#include "ops.h"

namespace {

at::Tensor symmetric(const at::Tensor& x) { return (x + x.mT()) / 2; }

// The last `count` dimensions of one operand with the first of the other.
at::Tensor contracted(const at::Tensor& one, const at::Tensor& other, std::int64_t count) {
  std::vector<std::int64_t> last(count), first(count);
  std::iota(last.begin(), last.end(), -count);
  std::iota(first.begin(), first.end(), 0);
  return at::tensordot(one, other, last, first);
}

}  // namespace

const Ops PRODUCTS = {
    {"matmul", OP(at::matmul(x[0], x[1]))},
    {"mm", OP(at::mm(x[0], x[1]))},
    {"mv", OP(at::mv(x[0], x[1]))},
    {"dot", OP(at::dot(x[0], x[1]))},
    {"bmm", OP(at::bmm(x[0], x[1]))},
    {"vecdot", OP(at::linalg_vecdot(x[0], x[1], a.whole("dim")))},
    {"outer", OP(at::outer(x[0], x[1]))},
    {"inner", OP(at::inner(x[0], x[1]))},
    {"tensordot", OP(contracted(x[0], x[1], a.whole("dims")))},
    {"einsum", OP(at::einsum(a.text("equation"), x))},
    {"einsum_three", OP(at::einsum(a.text("equation"), x))},
    {"kron", OP(at::kron(x[0], x[1]))},
    {"cross", OP(at::linalg_cross(x[0], x[1], a.whole("dim")))},
    {"linear", OP(at::linear(x[0], x[1]))},
    {"linear_bias", OP(at::linear(x[0], x[1], x[2]))},
    {"bilinear", OP(at::bilinear(x[0], x[1], x[2], x[3]))},
    {"multi_dot", OP(at::linalg_multi_dot(x))},
    {"addmm", OP(at::addmm(x[0], x[1], x[2], a.scalar("beta"), a.scalar("alpha")))},
    {"addmv", OP(at::addmv(x[0], x[1], x[2], a.scalar("beta"), a.scalar("alpha")))},
    {"addr", OP(at::addr(x[0], x[1], x[2], a.scalar("beta"), a.scalar("alpha")))},
    {"baddbmm", OP(at::baddbmm(x[0], x[1], x[2], a.scalar("beta"), a.scalar("alpha")))},

    {"det", OP(at::linalg_det(x[0]))},
    {"slogdet", OP(at::linalg_slogdet(x[0]))},
    {"inv", OP(at::linalg_inv(x[0]))},
    {"solve", OP(at::linalg_solve(x[0], x[1]))},
    {"solve_triangular", OP(at::linalg_solve_triangular(x[0], x[1], a.flag("upper")))},
    {"cholesky", OP(at::linalg_cholesky(symmetric(x[0])))},
    {"eigvalsh", OP(at::linalg_eigvalsh(symmetric(x[0])))},
    {"matrix_power", OP(at::linalg_matrix_power(x[0], a.whole("n")))},
    {"matrix_exp", OP(at::linalg_matrix_exp(x[0] / 4))},
    {"matrix_norm", OP(at::linalg_matrix_norm(x[0], "fro"))},
    {"dist", OP(at::dist(x[0], x[1], a.scalar("p")))},
};
