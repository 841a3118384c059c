#pragma once

// The whole public API.

#include "tokamak/array.h"
#include "tokamak/errors.h"
#include "tokamak/explanation.h"
#include "tokamak/functions.h"
#include "tokamak/jit.h"
#include "tokamak/memory.h"
#include "tokamak/types.h"
