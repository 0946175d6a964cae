// What the worker says of itself.

#pragma once

#include "attributes.h"

Json greeting();
