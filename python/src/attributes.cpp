#include "attributes.h"

#include "numpy_api.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "dtypes.h"
#include "tokamak/errors.h"

namespace nb = nanobind;

namespace tokamak::python {
namespace {

std::optional<Attr> attr_named(std::string_view name) {
  for (size_t i = 0; i < kAttrCount; ++i) {
    if (name_of(static_cast<Attr>(i)) == name) return static_cast<Attr>(i);
  }
  return std::nullopt;
}

Word word_named(std::string_view name) {
  for (size_t i = 0; i < kWordCount; ++i) {
    if (name_of(static_cast<Word>(i)) == name) return static_cast<Word>(i);
  }
  throw InternalError("there is no word '" + std::string(name) + "'");
}

DType dtype_from(nb::handle value) {
  PyArray_Descr* descr = nullptr;
  if (PyArray_DescrConverter(value.ptr(), &descr) != NPY_SUCCEED) throw nb::python_error();
  const std::optional<DType> dtype = dtype_of(descr);
  Py_DECREF(descr);
  if (!dtype)
    throw UserError("dtype " + std::string(nb::str(value).c_str()) + " is not supported", {},
                    UserError::Kind::type);
  return *dtype;
}

AttrValue value_from(Attr name, nb::handle value) {
  switch (kind_of(name)) {
    case AttrKind::integer:
      return nb::cast<int64_t>(value);
    case AttrKind::integers:
      return nb::cast<Ints>(value);
    case AttrKind::dtype:
      return dtype_from(value);
    case AttrKind::word:
      return word_named(nb::cast<std::string>(value));
    case AttrKind::tensor:
      break;
  }
  throw InternalError("constants are made from arrays, not from attributes");
}

}  // namespace

Attributes attributes_from(const nb::kwargs& given) {
  Attributes attributes;
  for (auto [key, value] : given) {
    const std::string name = nb::cast<std::string>(key);
    const std::optional<Attr> attr = attr_named(name);
    if (!attr) throw InternalError("there is no attribute '" + name + "'");
    attributes.set(*attr, value_from(*attr, value));
  }
  return attributes;
}

}  // namespace tokamak::python
