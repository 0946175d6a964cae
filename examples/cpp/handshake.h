// The worker's part of the handshake: its name, version, capabilities, ops and dtypes.

#pragma once

#include "attributes.h"

Json handshake();
