// What libtorch throws, as the kinds of error that the suite knows.

#pragma once

#include <exception>
#include <stdexcept>

#include "attributes.h"

// What a hook of a program throws that is told to.
struct HookRaised : std::runtime_error {
  HookRaised() : std::runtime_error("raised by a hook") {}
};

// The `raised` part of an observation.
Json raised(const std::exception& error);
