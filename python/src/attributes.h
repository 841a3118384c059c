#pragma once

#include <nanobind/nanobind.h>

#include "ir/attributes.h"

namespace tokamak::python {

/// Attributes given by name: axes=[0, 1], axis=0, dtype=numpy.dtype("f4"), mode="check".
Attributes attributes_from(const nanobind::kwargs& given);

}  // namespace tokamak::python
