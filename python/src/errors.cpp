#include "errors.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <new>
#include <typeinfo>

#include "location.h"

namespace nb = nanobind;

namespace tokamak::python {
namespace {

const char* class_of(const UserError& error) {
  switch (error.kind()) {
    case UserError::Kind::value:
      return "UserValueError";
    case UserError::Kind::type:
      return "UserTypeError";
    case UserError::Kind::index:
      return "UserIndexError";
    case UserError::Kind::memory:
      return "UserMemoryError";
    case UserError::Kind::zero_division:
      return "UserZeroDivisionError";
    case UserError::Kind::overflow:
      return "UserOverflowError";
    case UserError::Kind::floating_point:
      return "UserFloatingPointError";
  }
  return "Error";
}

void raise(const char* class_name, const Error& error) {
  const SourceLocation& where = error.where();
  nb::module_ module = nb::module_::import_("tokamak._errors");
  nb::object made =
      module.attr("from_native")(class_name, error.message(), where.file, where.line, where.function);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
}

void translate(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (nb::python_error& raised) {
    raised.restore();
  } catch (const UserError& user) {
    raise(class_of(user), user);
  } catch (const Unsupported& unsupported) {
    raise("Unsupported", unsupported);
  } catch (const Error& internal) {
    raise("InternalError", internal);
  } catch (const std::bad_alloc&) {
    raise("UserMemoryError", UserError("out of memory", user_python_line(), UserError::Kind::memory));
  } catch (const std::bad_cast&) {  // what nanobind throws for a Python value that no C++ type here holds
    raise("UserValueError",
          UserError("a number is out of range: integers have 64 bits here", user_python_line()));
  } catch (const std::exception& other) {
    PyErr_SetString(PyExc_RuntimeError, other.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "unknown error");
  }
}

}  // namespace

void raise_python_error(const std::exception_ptr& error) noexcept {
  if (PyErr_Occurred()) return;
  try {
    translate(error);
  } catch (nb::python_error& raised) {  // making the error has failed
    raised.restore();
  } catch (const std::exception& other) {
    PyErr_SetString(PyExc_RuntimeError, other.what());
  }
}

void register_error_translator() {
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const Error&) {
      raise_python_error(pointer);
    } catch (const std::bad_alloc&) {
      raise_python_error(pointer);
    } catch (const std::bad_cast&) {
      raise_python_error(pointer);
    }
  });
}

}  // namespace tokamak::python
