#include "tokamak/array.h"

#include <cstring>

#include "runtime/buffer_pool.h"
#include "trace/array_impl.h"
#include "trace/location.h"

namespace tokamak {
namespace {

const ArrayImpl& impl_of(const std::shared_ptr<const ArrayImpl>& impl, const char* what,
                         const std::source_location& where) {
  if (impl == nullptr) {
    throw UserError(std::string(what) + ": the array is empty: nothing was assigned to it", user_line(where));
  }
  return *impl;
}

[[noreturn]] void fail_traced(const char* what, const TensorType& type, const std::source_location& where) {
  throw UserError(
      std::string(what) + ": " + to_string(type) +
          " is being traced and has no elements yet; return it from the function given to jit and "
          "look at the result",
      user_line(where), UserError::Kind::type);
}

}  // namespace

void check_type(const TensorType& type, const std::source_location& where) {
  // Extents of 0 count as 1, so that strides of empty arrays are exact too.
  auto bytes = static_cast<int64_t>(size_of(type.dtype));
  for (int64_t extent : type.shape) {
    if (extent < 0) {
      throw UserError("array: extent " + std::to_string(extent) + " in " + to_string(type) + " is negative",
                      user_line(where));
    }
    if (extent > 0 && __builtin_mul_overflow(bytes, extent, &bytes)) {
      throw UserError("array: " + to_string(type) + " is too large", user_line(where),
                      UserError::Kind::memory);
    }
  }
}

const Memory& memory_of(const Array& array, const char* what, const std::source_location& where) {
  const ArrayImpl& impl = impl_of(array.shared_impl(), what, where);
  const Memory* memory = impl.memory();
  if (memory == nullptr) fail_traced(what, impl.type(), where);
  if (impl.is_donated()) {
    throw UserError(std::string(what) + ": the memory of this " + to_string(impl.type()) +
                        " was donated to a call before, and is no longer its own",
                    user_line(where));
  }
  return *memory;
}

Array make_array(TensorType type, Memory memory) {
  return Array(std::make_shared<const ArrayImpl>(std::move(type), std::move(memory)));
}

Array make_view(TensorType type, const Memory& of, std::byte* data, std::vector<int64_t> strides) {
  Layout layout = Layout::of(type, strides.data());
  return make_array(std::move(type), {of.owner, data, std::move(strides), std::move(layout), of.writeable});
}

Array allocate_array(TensorType type) {
  auto block = std::make_shared<Block>(BufferPool::instance().allocate(type.bytes()));
  auto* data = static_cast<std::byte*>(block->data());
  std::vector<int64_t> strides = dense_strides(type);
  return make_array(std::move(type), {std::move(block), data, std::move(strides), Layout{}});
}

Array array_of(const Tensor& tensor) {
  Array array = allocate_array(tensor.type());
  std::memcpy(array.impl().memory()->data, tensor.data(), tensor.byte_size());
  return array;
}

Tensor tensor_of(const Array& array) {
  const Memory& memory = *array.impl().memory();
  if (memory.layout.dense) return Tensor::copy_of(array.impl().type(), memory.data);
  Tensor tensor(array.impl().type());
  copy_to_dense(array.impl().type(), memory.data, memory.strides.data(), tensor.mutable_data());
  return tensor;
}

Array Array::from_bytes(TensorType type, const void* bytes, Where where) {
  check_type(type, where);
  Array array = allocate_array(std::move(type));
  const int64_t size = array.type().bytes();
  if (size > 0) std::memcpy(array.impl().memory()->data, bytes, static_cast<size_t>(size));
  return array;
}

Array Array::wrap(void* data, TensorType type, std::vector<int64_t> strides, std::shared_ptr<void> owner,
                  Where where) {
  check_type(type, where);
  if (strides.empty()) strides = dense_strides(type);
  if (strides.size() != type.shape.size()) {
    throw UserError("wrap: " + std::to_string(strides.size()) + " strides for " + to_string(type),
                    user_line(where));
  }
  Layout layout = Layout::of(type, strides.data());
  return make_array(std::move(type),
                    {std::move(owner), static_cast<std::byte*>(data), std::move(strides), std::move(layout)});
}

bool Array::is_traced() const { return impl_ != nullptr && impl_->recorded() != nullptr; }

const TensorType& Array::type(Where where) const { return impl_of(impl_, "type", where).type(); }

const void* Array::data(Where where) const { return memory_of(*this, "data", where).data; }

const std::vector<int64_t>& Array::strides(Where where) const {
  return memory_of(*this, "strides", where).strides;
}

bool Array::is_dense(Where where) const { return memory_of(*this, "is_dense", where).layout.dense; }

Array Array::contiguous(Where where) const {
  const Memory& memory = memory_of(*this, "contiguous", where);
  if (memory.layout.dense) return *this;
  Array dense = allocate_array(type());
  copy_to_dense(type(), memory.data, memory.strides.data(), dense.impl().memory()->data);
  return dense;
}

void Array::check_count(int64_t elements, const Shape& shape, Where where) {
  check_type({DType::f64, shape}, where);
  if (element_count(shape) != elements) {
    throw UserError(
        "array: " + std::to_string(elements) + " elements do not fill the shape " + to_string(shape),
        user_line(where));
  }
}

void Array::check_elements_are(DType wanted, Where where) const {
  const DType dtype = type(where).dtype;
  const bool is_16_bit_float = dtype == DType::f16 || dtype == DType::bf16;
  if (dtype == wanted || (is_16_bit_float && wanted == DType::u16)) return;
  throw UserError("to_vector: the elements of " + to_string(type()) + " are not " +
                      std::string(name_of(wanted)) + "; convert them with astype first",
                  user_line(where), UserError::Kind::type);
}

void Array::copy_dense(void* to, Where where) const {
  const Memory& memory = memory_of(*this, "to_vector", where);
  copy_to_dense(type(), memory.data, memory.strides.data(), to);
}

namespace {

Tensor single_element(const Array& array, const std::source_location& where) {
  const Memory& memory = memory_of(array, "item", where);
  if (array.size() != 1) {
    throw UserError(
        "item: " + to_string(array.type()) + " has " + std::to_string(array.size()) + " elements, not one",
        user_line(where));
  }
  return Tensor::copy_of({array.dtype(), {}}, memory.data);
}

}  // namespace

double Array::item_as_double(Where where) const { return element_as_double(single_element(*this, where), 0); }

int64_t Array::item_as_int(Where where) const { return element_as_int(single_element(*this, where), 0); }

}  // namespace tokamak
