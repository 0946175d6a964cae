// Ops that rearrange, join, cut and index.

#include <ATen/TensorIndexing.h>

#include "ops.h"

using at::indexing::Slice;

const Ops MANIPULATION = {
    {"reshape", OP(at::reshape(x[0], a.wholes("shape")))},
    {"permute_dims", OP(at::permute(x[0], a.wholes("dims")))},
    {"matrix_transpose", OP(x[0].mT())},
    {"transpose", OP(at::transpose(x[0], a.whole("dim0"), a.whole("dim1")))},
    {"moveaxis", OP(at::moveaxis(x[0], a.wholes("source"), a.wholes("destination")))},
    {"expand_dims", OP(at::unsqueeze(x[0], a.whole("dim")))},
    {"squeeze", OP(at::squeeze(x[0], a.wholes("dim")))},
    {"flatten", OP(at::flatten(x[0], a.whole("start_dim"), a.whole("end_dim")))},
    {"unflatten", OP(at::unflatten(x[0], a.whole("dim"), a.wholes("sizes")))},
    {"clone", OP(at::clone(x[0]))},
    {"flip", OP(at::flip(x[0], a.wholes("dims")))},
    {"roll", OP(at::roll(x[0], a.wholes("shifts"), a.wholes("dims")))},
    {"rot90", OP(at::rot90(x[0], a.whole("k"), a.wholes("dims")))},
    {"broadcast_to", OP(at::broadcast_to(x[0], a.wholes("shape")))},
    {"tile", OP(at::tile(x[0], a.wholes("dims")))},
    {"repeat", OP(at::repeat_interleave(x[0], a.whole("repeats"), a.whole("dim")))},
    {"repeat_uneven", OP(at::repeat_interleave(x[0], a.indices("repeats"), a.whole("dim")))},
    {"pad", OP(at::pad(x[0], a.wholes("pad"), "constant", a.real("value")))},
    {"pad_border", OP(at::pad(x[0], a.wholes("pad"), a.text("mode")))},
    {"unfold", OP(x[0].unfold(a.whole("dimension"), a.whole("size"), a.whole("step")))},

    {"concat", OP(at::cat(x, a.whole("dim")))},
    {"concat_three", OP(at::cat(x, a.whole("dim")))},
    {"stack", OP(at::stack(x, a.whole("dim")))},
    {"stack_three", OP(at::stack(x, a.whole("dim")))},
    {"block_diag", OP(at::block_diag(x))},
    {"split", OP(at::split(x[0], a.wholes("sizes"), a.whole("dim")))},
    {"chunk", OP(at::chunk(x[0], a.whole("chunks"), a.whole("dim")))},
    {"tensor_split", OP(at::tensor_split(x[0], a.whole("sections"), a.whole("dim")))},
    {"unstack", OP(at::unbind(x[0], a.whole("dim")))},

    {"slice", OP(x[0].index({Slice(a.whole("start"), a.whole("stop"), a.whole("step"))}))},
    {"select", OP(at::select(x[0], a.whole("dim"), a.whole("index")))},
    {"narrow", OP(at::narrow(x[0], a.whole("dim"), a.whole("start"), a.whole("length")))},
    {"take", OP(at::index_select(x[0], a.whole("dim"), a.indices("index")))},
    {"take_along_axis", OP(at::take_along_dim(x[0], a.indices("index"), a.whole("dim")))},
    {"gather", OP(at::gather(x[0], a.whole("dim"), a.indices("index")))},
    {"take_flat", OP(at::take(x[0], a.indices("index")))},
    {"index", OP(x[0].index({a.indices("index")}))},
    {"embedding", OP(at::embedding(x[0], a.indices("index")))},
    {"masked_select", OP(x[0].index({a.mask("mask")}))},
    {"scatter", OP(at::scatter(x[0], a.whole("dim"), a.indices("index"), x[1]))},
    {"scatter_add", OP(at::scatter_add(x[0], a.whole("dim"), a.indices("index"), x[1]))},
    {"index_add", OP(at::index_add(x[0], a.whole("dim"), a.indices("index"), x[1]))},
    {"index_copy", OP(at::index_copy(x[0], a.whole("dim"), a.indices("index"), x[1]))},
    {"index_fill", OP(at::index_fill(x[0], a.whole("dim"), a.indices("index"), a.scalar("value")))},
    {"select_scatter", OP(at::select_scatter(x[0], x[1], 0, a.whole("index")))},
    {"masked_fill", OP(at::masked_fill(x[0], a.mask("mask"), a.scalar("value")))},

    {"tril", OP(at::tril(x[0], a.whole("diagonal")))},
    {"triu", OP(at::triu(x[0], a.whole("diagonal")))},
    {"diagonal", OP(at::diagonal(x[0], a.whole("offset"), -2, -1))},
    {"diag_embed", OP(at::diag_embed(x[0], a.whole("offset")))},
    {"trace", OP(at::trace(x[0]))},
    {"diagonal_scatter", OP(at::diagonal_scatter(x[0], x[1]))},
};
