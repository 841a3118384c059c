#include "selection.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "array.h"
#include "location.h"
#include "trace/selection.h"

namespace tokamak::python {
namespace {

/// Reads a key of NumPy's: an item, or a tuple of them.
class KeyReader {
 public:
  KeyReader(const Array& x, nb::handle key) : shape_(x.shape()) {
    is_tuple_ = PyTuple_CheckExact(key.ptr());
    items_ = is_tuple_ ? &PyTuple_GET_ITEM(key.ptr(), 0) : &(single_ = key.ptr());
    count_ = is_tuple_ ? PyTuple_GET_SIZE(key.ptr()) : 1;
  }
  KeyReader(const KeyReader&) = delete;
  KeyReader& operator=(const KeyReader&) = delete;

  /// Nothing where there is more in the key than integers, slices, None and an ellipsis, or more of them than
  /// axes.
  std::optional<Selection> read() {
    if (!count_axes()) return std::nullopt;
    for (Py_ssize_t i = 0; i < count_; ++i) {
      PyObject* item = items_[i];
      if (item == Py_None) {
        axes_.push_back(Selection::kNewAxis);
      } else if (item == Py_Ellipsis) {
        add_whole(rest_);
      } else if (PyLong_CheckExact(item)) {
        add_integer(item);
      } else {
        add_slice(item);
      }
    }
    add_whole(shape_.size() - ranges_.size());
    return Selection(std::move(ranges_), std::move(axes_));
  }

 private:
  bool count_axes() {
    size_t used = 0;
    bool has_ellipsis = false;
    for (Py_ssize_t i = 0; i < count_; ++i) {
      PyObject* item = items_[i];
      if (PyLong_CheckExact(item) || PySlice_Check(item)) {
        ++used;
      } else if (item == Py_Ellipsis && !has_ellipsis) {
        has_ellipsis = true;
      } else if (item != Py_None) {
        return false;
      }
    }
    if (used > shape_.size()) return false;
    rest_ = shape_.size() - used;
    return true;
  }

  int64_t extent() const { return shape_[ranges_.size()]; }

  void add_whole(size_t axes) {
    for (; axes > 0; --axes) {
      axes_.push_back(static_cast<int64_t>(ranges_.size()));
      ranges_.push_back({0, extent(), 1});
    }
  }

  void add_integer(PyObject* item) {
    int overflow = 0;
    const int64_t given = PyLong_AsLongLongAndOverflow(item, &overflow);
    const int64_t place = given < 0 ? given + extent() : given;
    if (overflow != 0 || place < 0 || place >= extent())
      fail("index " + std::string(nb::str(nb::handle(item)).c_str()) + " is out of bounds for axis " +
           std::to_string(ranges_.size()) + " with size " + std::to_string(extent()));
    ranges_.push_back({place, place + 1, 1});
  }

  void add_slice(PyObject* item) {
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(item, &start, &stop, &step) < 0) refuse_slice(item);
    const Py_ssize_t count = PySlice_AdjustIndices(extent(), &start, &stop, step);
    const Py_ssize_t last = start + (count - 1) * step;
    axes_.push_back(static_cast<int64_t>(ranges_.size()));
    if (count == 0) {
      ranges_.push_back({0, 0, step});
    } else {
      ranges_.push_back({std::min(start, last), std::max(start, last) + 1, step});
    }
  }

  /// What is wrong with a slice, unless one of its parts has said so itself.
  [[noreturn]] static void refuse_slice(PyObject* item) {
    nb::python_error error;
    const nb::object ours = nb::module_::import_("tokamak._errors").attr("Error");
    if (PyErr_GivenExceptionMatches(error.value().ptr(), ours.ptr()) ||
        !(error.matches(PyExc_TypeError) || error.matches(PyExc_ValueError)))
      throw error;
    fail(std::string(nb::str(nb::handle(item)).c_str()) + ": " + nb::str(error.value()).c_str());
  }

  [[noreturn]] static void fail(const std::string& message) {
    throw UserError(message, user_python_line(), UserError::Kind::index);
  }

  const Shape& shape_;
  PyObject* single_ = nullptr;
  bool is_tuple_ = false;
  PyObject** items_ = nullptr;
  Py_ssize_t count_ = 0;
  size_t rest_ = 0;  ///< axes that an ellipsis stands for
  std::vector<Selection::Range> ranges_;
  Ints axes_;
};

const Array& array_in(nb::handle object) {
  const PythonArray* held = as_python_array(object.ptr());
  if (held == nullptr) throw InternalError("x[...]: x is not a tokamak.Array");
  return held->array;
}

std::optional<Selection> select(nb::handle x, nb::handle key) { return KeyReader(array_in(x), key).read(); }

/// The result of `function`; other Python threads run meanwhile, unless it only records.
template <class Function>
nb::object made_by(bool is_recorded, const Function& function) {
  if (is_recorded) return make_python_array(function());
  Array result;
  {
    nb::gil_scoped_release release;
    result = function();
  }
  return make_python_array(std::move(result));
}

/// x itself where that is all of it.
nb::object forward(const Selection& self, const nb::object& x) {
  const Array& array = array_in(x);
  if (self.is_all_of(array.shape())) return x;
  return made_by(array.is_traced(), [&] { return self.of(array); });
}

nb::object put_back(const Selection& self, nb::handle x, nb::handle by) {
  const Array& before = array_in(x);
  const Array& given = array_in(by);
  return made_by(before.is_traced() || given.is_traced(), [&] { return self.replaced(before, given); });
}

nb::object index_or_none(int64_t index) { return index < 0 ? nb::none() : nb::object(nb::int_(index)); }

nb::object slice_of(const Selection::Range& range) {
  const bool is_reversed = range.step < 0;
  const int64_t first = is_reversed ? range.end - 1 : range.first;
  const int64_t end = is_reversed ? range.first - 1 : range.end;
  if (range.count() == 0) return nb::steal(PySlice_New(nb::int_(0).ptr(), nb::int_(0).ptr(), nullptr));
  return nb::steal(PySlice_New(nb::int_(first).ptr(), index_or_none(end).ptr(), nb::int_(range.step).ptr()));
}

/// The key that makes the same view of an ndarray: with an ellipsis, so that it is one also of an element.
nb::object key_of(const Selection& self) {
  nb::list key;
  size_t axis = 0;
  const auto add_integers_before = [&](size_t end) {
    for (; axis < end; ++axis) key.append(self.ranges()[axis].first);
  };
  for (int64_t along : self.axes()) {
    if (along == Selection::kNewAxis) {
      key.append(nb::none());
      continue;
    }
    add_integers_before(static_cast<size_t>(along));
    key.append(slice_of(self.ranges()[axis++]));
  }
  add_integers_before(self.ranges().size());
  key.append(nb::ellipsis());
  return nb::tuple(key);
}

nb::object on_memory(const Selection& self, nb::handle memory) { return memory[key_of(self)]; }

nb::tuple shape(const Selection& self) { return nb::tuple(nb::cast(self.shape())); }

nb::tuple strides(const Selection& self, const Ints& of_array) {
  return nb::tuple(nb::cast(self.strides(of_array)));
}

}  // namespace

void bind_selection(nb::module_& module) {
  nb::class_<Selection>(module, "Selection")
      .def_prop_ro("shape", shape)
      .def("forward", forward, nb::arg("x"))
      .def("put_back", put_back, nb::arg("x"), nb::arg("by"))
      .def("on_memory", on_memory, nb::arg("memory"))
      .def("strides", strides, nb::arg("of_array"));
  module.def("select", select, nb::arg("x"), nb::arg("key").none());
}

}  // namespace tokamak::python
