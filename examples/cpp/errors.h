// libtorch's exceptions as the suite's kinds of error.

#pragma once

#include <exception>
#include <stdexcept>

#include "attributes.h"

// The exception that a program's hook throws if its effect is to raise.
struct HookRaised : std::runtime_error {
  HookRaised() : std::runtime_error("raised by a hook") {}
};

// The `raised` part of an observation.
Json raised(const std::exception& error);
