// Tensors as JSON, exactly, both ways.

#pragma once

#include "attributes.h"

// A tensor with memory of its own, from the shape, dtype and data of a literal.
at::Tensor literal(const Json& form);

// What a tensor shows.
Json shown(const at::Tensor& value);

// What a gradient shows that some value holds; null where it holds none.
Json shown_gradient(const at::Tensor& gradient);

// The elements of a tensor alone, with shape and dtype.
Json elements(const at::Tensor& value);
