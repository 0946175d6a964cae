// Exact conversion of tensors to and from JSON.

#pragma once

#include "attributes.h"

// A tensor with new memory, from the shape, dtype and data of a literal.
at::Tensor literal(const Json& form);

// The observation of a tensor.
Json shown(const at::Tensor& value);

// The observation of a value's gradient; null if it has none.
Json shown_gradient(const at::Tensor& gradient);

// The shape, dtype and elements of a tensor.
Json elements(const at::Tensor& value);
