#pragma once

#include <nanobind/nanobind.h>

namespace tokamak::python {

/// table[index] for a table that is an ndarray, often a global, and an index that is traced. NumPy asks
/// nobody but the table what to do, and would want the elements of the index. So ndarray's own subscript is
/// replaced by one that hands such calls over while this thread traces, and does what it always does
/// otherwise. That happens when a function is traced for the first time; importing changes nothing in NumPy.
void take_over_lookups();
void bind_lookup(nanobind::module_& module);

}  // namespace tokamak::python
