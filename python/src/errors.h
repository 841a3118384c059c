#pragma once

#include "numpy_api.h"

#include <exception>

#include "tokamak/errors.h"

namespace tokamak::python {

/// Raises the Python exception that stands for a C++ one: UserError becomes ValueError, TypeError, IndexError
/// or MemoryError by its kind, Unsupported NotImplementedError, InternalError RuntimeError; all of them are
/// also tokamak.Error.
void raise_python_error(const std::exception_ptr& error) noexcept;

/// Makes nanobind translate the same way.
void register_error_translator();

}  // namespace tokamak::python
