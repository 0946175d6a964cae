#include "errors.h"

#include <cxxabi.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <typeinfo>
#include <utility>

namespace {

// libtorch's errors are told apart by the most stable part of the message.
constexpr std::array<std::pair<std::string_view, const char*>, 24> MESSAGES = {{
    {"Trying to backward through the graph a second time", "GRAPH_FREED"},
    {"does not require grad and does not have a grad_fn", "NO_GRAD"},
    {"grad can be implicitly created only for scalar outputs", "NON_SCALAR_ROOT"},
    {"but expected shape compatible with", "COTANGENT_SHAPE"},
    {"has been modified by an inplace operation", "MODIFIED"},
    {"saved tensor that has been detached in-place", "MODIFIED"},
    {"leaf Variable that requires grad is being used in an in-place operation", "LEAF_WRITTEN"},
    {"A view was created in no_grad mode and", "VIEW_WRITTEN"},
    {"is a view and is being modified inplace", "VIEW_WRITTEN"},
    {"is a view and its base or another view of its base has been modified inplace", "VIEW_WRITTEN"},
    {"of the written-to tensor refers to a single memory location", "OVERLAP"},
    {"a tensor being mutated that has internal overlap", "OVERLAP"},
    {"and the written-to tensor refer to a single memory location", "OVERLAP"},
    {"you can only change requires_grad flags of leaf variables", "NOT_A_LEAF"},
    {"can't optimize a non-leaf Tensor", "NOT_A_LEAF"},
    {"Can't detach views in-place", "VIEW_DETACHED"},
    {"appears to not have been used in the graph", "UNUSED_INPUT"},
    {"One of the differentiated Tensors does not require grad", "INPUT_NO_GRAD"},
    {"grad requires non-empty inputs", "NO_INPUTS"},
    {"'inputs' argument to backward cannot be empty", "NO_INPUTS"},
    {"can't retain_grad on Tensor that has requires_grad=False", "RETAIN_NO_GRAD"},
    {"cannot register a hook on a variable that doesn't require gradient", "HOOK_NO_GRAD"},
    {"has changed the size of value", "HOOK_SHAPE"},
    {"is not implemented", "NOT_IMPLEMENTED"},
}};

const char* kind_of(const std::exception& error, std::string_view message) {
  if (dynamic_cast<const HookRaised*>(&error) != nullptr) {
    return "HOOK_RAISED";
  }
  for (const auto& [part, kind] : MESSAGES) {
    if (message.find(part) != std::string_view::npos) {
      return kind;
    }
  }
  return "UNKNOWN";
}

std::string type_of(const std::exception& error) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(typeid(error).name(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? name.get() : typeid(error).name();
}

}  // namespace

Json raised(const std::exception& error) {
  const auto* torch = dynamic_cast<const c10::Error*>(&error);
  const std::string message = torch == nullptr ? error.what() : torch->what_without_backtrace();
  return {{"kind", kind_of(error, message)}, {"type", type_of(error)}, {"message", message}};
}
