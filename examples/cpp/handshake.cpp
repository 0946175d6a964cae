#include "handshake.h"

#include <torch/version.h>

#include "ops.h"
#include "optimizers.h"

namespace {

// COTANGENT_CHECK is not claimed: only the Python functions refuse a cotangent of another shape. The C++ engine sums a
// cotangent to the root's shape if it can, and its documentation does not mention the shape.
const std::vector<std::string> CAPABILITIES = {
    "IMPERATIVE", "ACCUMULATES", "RETAIN", "FREES", "NON_SCALAR_CHECK", "NO_GRAD_CHECK",
    "DETACH", "DETACHES_IN_PLACE", "ZERO_TO_NONE", "ZERO_TO_ZEROS", "CONSTANTS", "REQUIRES_GRAD", "IDENTITY", "PROMOTES",
    "MULTIPLE_ROOTS", "COTANGENTS", "CREATE_GRAPH", "CREATES_IN_LEAVES", "ASSIGNS", "OPTIMIZERS", "MAKES_OPTIMIZERS",
    "GROUPS", "CLIPS", "RANDOM", "WRITES", "VIEWS", "MEMORY", "LAYOUT", "ADDS_IN_PLACE", "WRITE_CHECKS", "MODES",
    "SWITCHES", "INPUTS", "RETAINS_GRAD", "HOOKS",
};

template <class Table>
Json names_of(const Table& table) {
  Json names = Json::array();
  for (const auto& row : table) {
    names.push_back(row.first);
  }
  return names;
}

}  // namespace

Json handshake() {
  return {
      {"protocol", 1},
      {"name", "libtorch"},
      {"version", TORCH_VERSION},
      {"language", "C++20"},
      {"digest", DIGEST},
      {"capabilities", CAPABILITIES},
      {"ops", names_of(ops())},
      {"writes", names_of(WRITES)},
      {"modules", names_of(RANDOM)},
      {"optimizers", OPTIMIZERS},
      {"dtypes", {"float64", "float32"}},
      {"devices", {"cpu"}},
      {"random", true},
  };
}
