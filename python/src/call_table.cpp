#include "call_table.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "block_owner.h"
#include "errors.h"
#include "location.h"
#include "runtime/buffer_pool.h"
#include "shared_memory.h"
#include "trace/array_impl.h"

namespace tokamak::python {
namespace {

/// Storage for `N` things on the stack, more on the heap.
template <class T, size_t N>
class Some {
 public:
  explicit Some(size_t count) : data_(count <= N ? few_ : (many_ = std::make_unique<T[]>(count)).get()) {}
  T& operator[](size_t i) { return data_[i]; }
  T* data() { return data_; }

 private:
  T few_[N];
  std::unique_ptr<T[]> many_;
  T* data_;
};

constexpr size_t kFew = 8;

/// Bytes of captured arrays from which on a program is dropped when they change.
constexpr size_t kLargeCapture = 1 << 20;

/// A donated argument is overwritten: it must be writeable, and no other argument may share its memory.
void check_donated(const Entry& entry, const Leaf* leaves, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (!entry.specs[i].donated) continue;
    if (!leaves[i].writeable) {
      throw UserError(
          "a donated argument is read-only, or other arrays share its memory: it cannot hold a result",
          user_python_line());
    }
    for (size_t k = 0; k < count; ++k) {
      if (k != i && share_memory(Region::of(leaves[i]), Region::of(leaves[k]))) {
        throw UserError(
            "a donated argument shares its memory with another argument; pass a copy of one of them",
            user_python_line());
      }
    }
  }
}

/// An argument that is written to must be writeable, and no other may share its memory: what is read from
/// that one would have to change on the way.
void check_written(const Entry& entry, const Leaf* leaves, size_t count) {
  for (const WrittenPart& part : entry.written) {
    const int written = part.argument;
    const Leaf& leaf = leaves[written];
    if (!leaf.writeable && PyArray_Check(leaf.object)) {
      throw UserError("the function writes to an argument that is read-only", user_python_line(),
                      UserError::Kind::value);
    }
    const Region region = Region::of(leaf);
    if (entry.checked != nullptr && entry.checked->touches(region)) {
      throw UserError(
          "the function writes to an argument that shares its memory with an array which it reads from "
          "elsewhere; pass "
          "that as an argument, too, or a copy of one of them",
          user_python_line(), UserError::Kind::value);
    }
    for (size_t k = 0; k < count; ++k) {
      if (static_cast<int>(k) != written && share_memory(region, Region::of(leaves[k]))) {
        throw UserError(
            "the function writes to an argument that shares its memory with another one; pass a copy of one "
            "of them",
            user_python_line(), UserError::Kind::value);
      }
    }
  }
}

/// Whether an argument that is written to is given twice: then the function sees one array, and its program
/// is another.
bool writes_to_one_of_two(const Entry& entry, const Leaf* leaves, size_t count) {
  for (const WrittenPart& part : entry.written) {
    for (size_t k = 0; k < count; ++k) {
      if (static_cast<int>(k) != part.argument && leaves[k].object == leaves[part.argument].object)
        return true;
    }
  }
  return false;
}

/// The part as an ndarray over the memory of the argument, with the shape of `made`. Null with the Python
/// error set.
PyObject* view_of_part(PyArrayObject* whole, const ArgumentPart& part, const npy_intp* shape) {
  auto* data = static_cast<char*>(PyArray_DATA(whole));
  const npy_intp* steps = PyArray_STRIDES(whole);
  for (size_t axis = 0; axis < part.starts.size(); ++axis) data += part.starts[axis] * steps[axis];
  npy_intp strides[NPY_MAXDIMS] = {};
  for (size_t axis = 0; axis < part.axes.size(); ++axis) {
    const auto [along, step] = part.axes[axis];
    strides[axis] = along < 0 ? 0 : step * steps[along];
  }
  PyArray_Descr* descr = PyArray_DESCR(whole);
  Py_INCREF(descr);
  return PyArray_NewFromDescr(&PyArray_Type, descr, static_cast<int>(part.axes.size()), shape, strides, data,
                              NPY_ARRAY_WRITEABLE, nullptr);
}

/// Copies to a part of an array, and frees what is copied. False with the Python error set.
bool copy_to_part(PyArrayObject* whole, const ArgumentPart& part, const npy_intp* shape, PyObject* elements) {
  PyObject* view = elements == nullptr ? nullptr : view_of_part(whole, part, shape);
  const bool done = view != nullptr && PyArray_CopyInto(reinterpret_cast<PyArrayObject*>(view),
                                                        reinterpret_cast<PyArrayObject*>(elements)) == 0;
  Py_XDECREF(view);
  Py_XDECREF(elements);
  return done;
}

/// Gives a part of an argument its new elements. False with the Python error set.
bool write_back(const Leaf& leaf, const WrittenPart& written, PyObject* made) {
  auto* elements = reinterpret_cast<PyArrayObject*>(made);
  const ArgumentPart& part = written.part;
  if (PyArray_Check(leaf.object)) {
    auto* target = reinterpret_cast<PyArrayObject*>(leaf.object);
    if (!part.starts.empty()) {
      Py_INCREF(made);
      return copy_to_part(target, part, PyArray_DIMS(elements), made);
    }
    if (written.places.empty()) return PyArray_CopyInto(target, elements) == 0;
    return std::ranges::all_of(written.places, [&](const auto& place) {
      const auto* shape = reinterpret_cast<const npy_intp*>(place.second.data());
      return copy_to_part(target, place.first, shape, view_of_part(elements, place.first, shape));
    });
  }
  if (part.starts.empty()) {
    nb::module_::import_("tokamak._sharing").attr("write")(nb::handle(leaf.object), nb::handle(made), "jit");
  } else {
    nb::module_::import_("tokamak._parts")
        .attr("write_part")(nb::handle(leaf.object), part.starts, part.axes, nb::handle(made));
  }
  return true;
}

/// One result on its way: where the program writes it, and who owns that.
struct Output {
  Block block;
  const Leaf* donor = nullptr;
};

PyObject* wrap_ndarray_output(const ResultType& result, void* data, Output& output) {
  Py_INCREF(result.descr);
  const Shape& shape = result.type.shape;
  const bool is_row_major = result.strides.empty();
  PyObject* array =
      PyArray_NewFromDescr(&PyArray_Type, result.descr, static_cast<int>(shape.size()),
                           reinterpret_cast<const npy_intp*>(shape.data()),
                           is_row_major ? nullptr : reinterpret_cast<const npy_intp*>(result.strides.data()),
                           data, is_row_major ? NPY_ARRAY_CARRAY : NPY_ARRAY_BEHAVED, nullptr);
  if (array == nullptr) return nullptr;
  PyObject* owner = nullptr;
  if (output.donor != nullptr) {
    owner = output.donor->object;
    Py_INCREF(owner);
  } else {
    owner = make_block_owner(std::move(output.block));
  }
  if (owner == nullptr || PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(array), owner) < 0) {
    Py_DECREF(array);
    return nullptr;
  }
  return array;
}

PyObject* wrap_array_output(const ResultType& result, void* data, Output& output) {
  const TensorType& type = result.type;
  Memory memory;
  memory.data = static_cast<std::byte*>(data);
  memory.strides = result.strides.empty() ? dense_strides(type) : result.strides;
  memory.layout = Layout::of(type, memory.strides.data());
  if (output.donor != nullptr) {
    memory.owner = share_reference(output.donor->object);
    if (const PythonArray* donor = as_python_array(output.donor->object)) {
      memory.owner = donor->array.impl().memory()->owner;
    }
  } else {
    memory.owner = std::make_shared<Block>(std::move(output.block));
  }
  return make_python_array(make_array(type, std::move(memory))).release().ptr();
}

PyObject* build_result(const Entry& entry, PyObject** results, size_t count) {
  if (entry.form == OutputForm::one) return results[0];
  if (entry.recipe != nullptr) return entry.recipe->build({results, count});
  PyObject* sequence = entry.form == OutputForm::tuple ? PyTuple_New(static_cast<Py_ssize_t>(count))
                                                       : PyList_New(static_cast<Py_ssize_t>(count));
  if (sequence == nullptr) throw std::bad_alloc();
  for (size_t i = 0; i < count; ++i) {
    if (entry.form == OutputForm::tuple) {
      PyTuple_SET_ITEM(sequence, static_cast<Py_ssize_t>(i), results[i]);
    } else {
      PyList_SET_ITEM(sequence, static_cast<Py_ssize_t>(i), results[i]);
    }
  }
  if (entry.form != OutputForm::other) return sequence;
  PyObject* built = PyObject_CallOneArg(entry.build.ptr(), sequence);
  Py_DECREF(sequence);
  return built;
}

/// Some of the results are arguments: the caller's own objects.
PyObject* build_result_with_arguments(const Entry& entry, PyObject** made, const Leaf* leaves) {
  Some<PyObject*, 4> results(entry.taken.size());
  for (size_t i = 0; i < entry.taken.size(); ++i) {
    if (entry.taken[i] < 0) {
      results[i] = *made++;
    } else {
      results[i] = leaves[entry.taken[i]].object;
      Py_INCREF(results[i]);
    }
  }
  return build_result(entry, results.data(), entry.taken.size());
}

void run_program(const Entry& entry, const void* const* inputs, const int64_t* const* strides,
                 void* const* outputs) {
  if (!entry.releases_gil) return entry.program->run(inputs, strides, outputs);
  nb::gil_scoped_release release;
  entry.program->run(inputs, strides, outputs);
}

PyObject* run(Entry& entry, const Leaf* leaves, size_t count, bool as_arrays) {
  const Program& program = *entry.program;
  const size_t results = program.outputs.size();
  Some<const void*, kFew> inputs(count);
  Some<const int64_t*, kFew> strides(count);
  for (size_t i = 0; i < count; ++i) {
    inputs[i] = leaves[i].data;
    strides[i] = entry.specs[i].dense || entry.specs[i].gapless ? nullptr : leaves[i].strides;
  }
  std::vector<std::vector<int64_t>> reordered;  // strides, as the program takes the axes
  for (size_t i = 0; i < count; ++i) {
    if (strides[i] == nullptr || entry.specs[i].order.empty()) continue;
    reordered.push_back(
        in_order(std::vector<int64_t>(strides[i], strides[i] + leaves[i].rank), entry.specs[i].order));
    strides[i] = reordered.back().data();
  }
  if (entry.has_donated) check_donated(entry, leaves, count);
  if (!entry.written.empty()) check_written(entry, leaves, count);

  const size_t computed = results - entry.written.size();
  auto is_in_place = [&](size_t i) {
    return i >= computed && entry.written[i - computed].in_place &&
           PyArray_Check(leaves[entry.written[i - computed].argument].object);
  };
  Some<Output, 4> outputs(results);
  Some<void*, 4> data(results);
  for (size_t i = 0; i < results; ++i) {
    if (is_in_place(i)) {
      const WrittenPart& part = entry.written[i - computed];
      data[i] = static_cast<char*>(const_cast<void*>(leaves[part.argument].data)) + part.offset;
    } else if (const std::optional<int>& donor = program.output_donor[i]) {
      outputs[i].donor = &leaves[*donor];
      data[i] = const_cast<void*>(leaves[*donor].data);
    } else {
      outputs[i].block = BufferPool::instance().allocate(entry.results[i].bytes_in_memory());
      data[i] = outputs[i].block.data();
      if (program.output_keeps[i]) {
        const WrittenPart& part = entry.written[i - computed];
        std::memcpy(data[i], static_cast<const char*>(leaves[part.argument].data) + part.offset,
                    static_cast<size_t>(program.outputs[i].bytes()));
      }
    }
  }
  run_program(entry, inputs.data(), strides.data(), data.data());
  if (as_arrays && entry.has_donated) {
    for (size_t i = 0; i < count; ++i) {
      const PythonArray* array = entry.specs[i].donated ? as_python_array(leaves[i].object) : nullptr;
      if (array != nullptr) array->array.impl().donate();
    }
  }

  Some<PyObject*, 4> made(computed);
  for (size_t i = 0; i < results; ++i) {
    if (is_in_place(i)) continue;
    const ResultType& result = entry.results[i];
    const WrittenPart* part = i < computed ? nullptr : &entry.written[i - computed];
    const Leaf* target = part == nullptr ? nullptr : &leaves[part->argument];
    const bool as_array = target == nullptr ? as_arrays : !PyArray_Check(target->object);
    PyObject* one = nullptr;
    if (as_array) {
      one = wrap_array_output(result, data[i], outputs[i]);
    } else if (result.type.shape.empty() && target == nullptr) {
      one = PyArray_Scalar(data[i], result.descr, nullptr);
    } else {
      one = wrap_ndarray_output(result, data[i], outputs[i]);
    }
    bool done = one != nullptr;
    if (done && target != nullptr) {
      done = write_back(*target, *part, one);
      Py_DECREF(one);
    } else if (done) {
      made[i] = one;
    }
    if (!done) {
      for (size_t k = 0; k < std::min(i, computed); ++k) Py_DECREF(made[k]);
      return nullptr;
    }
  }
  if (entry.taken.empty()) return build_result(entry, made.data(), computed);
  return build_result_with_arguments(entry, made.data(), leaves);
}

}  // namespace

ResultType ResultType::of(const TensorType& in_memory, const AxisOrder& order) {
  ResultType result{in_memory, descr_of(in_memory.dtype), {}};
  if (order.empty()) return result;
  const AxisOrder back = inverse(order);
  result.type.shape = in_order(in_memory.shape, back);
  result.strides = in_order(dense_strides(in_memory), back);
  return result;
}

void ResultType::spread(int64_t distance) {
  if (distance == 1) return;
  if (strides.empty()) strides = dense_strides(type);
  for (int64_t& stride : strides) stride *= distance;
  step *= distance;
}

int64_t ResultType::bytes_in_memory() const {
  const int64_t gaps = std::max<int64_t>(type.elements() - 1, 0) * (step - 1);
  return type.bytes() + gaps * static_cast<int64_t>(size_of(type.dtype));
}

Entry* CallTable::find(const Leaf* leaves, size_t count, PyObject* const* statics, size_t static_count) {
  const Checks checks = current_checks();
  for (size_t e = 0; e < entries_.size(); ++e) {
    Entry* entry = entries_[e];
    if (entry->specs.size() != count || entry->statics.size() != static_count) continue;
    size_t i = 0;
    while (i < count && entry->specs[i].matches(leaves[i])) ++i;
    if (i < count) continue;
    size_t s = 0;
    while (s < static_count && entry->statics[s].ptr() == statics[s]) ++s;
    if (s < static_count || entry->checks != checks) continue;
    if (!entry->written.empty() && writes_to_one_of_two(*entry, leaves, count)) continue;
    if (!entry->is_current()) {
      if (e >= entries_.size() || entries_[e] != entry) return nullptr;  // the table was changed meanwhile
      continue;
    }
    if (e != 0) std::swap(entries_[e], entries_[0]);
    entry->used = ++clock_;
    ++hits;
    return entry;
  }
  return nullptr;
}

/// Programs that hold large arrays which are no longer what they were are not kept for the case that they are
/// again.
void CallTable::drop_outdated() {
  for (size_t e = entries_.size(); e-- > 0;) {
    Entry* entry = entries_[e];
    if (entry->checked == nullptr || entry->checked->bytes() < kLargeCapture || entry->is_current()) continue;
    const auto found = std::ranges::find(entries_, entry);
    if (found == entries_.end()) return;  // the table was changed meanwhile
    entries_.erase(found);
    entry->release();
  }
}

void CallTable::add(Entry* entry) {
  drop_outdated();
  entry->used = ++clock_;
  ++misses;
  entries_.push_back(entry);
  if (entries_.size() <= capacity_) return;
  auto oldest = std::ranges::min_element(entries_, {}, &Entry::used);
  Entry* gone = *oldest;
  entries_.erase(oldest);
  gone->release();
}

void CallTable::clear() {
  std::vector<Entry*> gone = std::move(entries_);
  entries_.clear();
  for (Entry* entry : gone) entry->release();
}

int CallTable::traverse(visitproc visit, void* arg) const {
  for (const Entry* entry : entries_) {
    for (const nb::object& value : entry->statics) Py_VISIT(value.ptr());
    Py_VISIT(entry->build.ptr());
    Py_VISIT(entry->guards.ptr());
  }
  return 0;
}

PyObject* run_entry(Entry& entry, const Leaf* leaves, size_t count, bool as_arrays) noexcept {
  ++entry.references;  // the garbage collector may run anything, and that may clear the table
  PyObject* result = nullptr;
  try {
    result = run(entry, leaves, count, as_arrays);
  } catch (...) {
    raise_python_error(std::current_exception());
  }
  entry.release();
  return result;
}

}  // namespace tokamak::python
