#pragma once

#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <variant>
#include <vector>

#include "tokamak/errors.h"
#include "tokamak/export.h"
#include "tokamak/types.h"

namespace tokamak {

class ArrayImpl;  ///< concrete memory, or a value of a function being traced

/// An array: memory, or, inside a function given to `jit`, a value that is being recorded. Copies share.
/// The operations in functions.h work on both; on memory they run at once, one kernel each.
class TOKAMAK_API Array {
 public:
  Array() = default;
  explicit Array(std::shared_ptr<const ArrayImpl> impl) : impl_(std::move(impl)) {}

  /// Copies dense row-major elements. `T` is the storage type of `dtype` (bool as bool or uint8_t, f16/bf16 as uint16_t).
  static Array from_bytes(TensorType type, const void* bytes);
  template <class T>
  static Array from(std::span<const T> elements, Shape shape);
  template <class T>
  static Array from(const std::vector<T>& elements, Shape shape) {
    return from(std::span<const T>(elements), std::move(shape));
  }
  /// Uses memory of somebody else without copying; `owner` keeps it alive. Strides in bytes; empty means dense.
  static Array wrap(void* data, TensorType type, std::vector<int64_t> strides, std::shared_ptr<void> owner);

  bool is_valid() const { return impl_ != nullptr; }
  bool is_traced() const;
  const TensorType& type() const;
  DType dtype() const { return type().dtype; }
  const Shape& shape() const { return type().shape; }
  int64_t rank() const { return type().rank(); }
  int64_t size() const { return type().elements(); }

  // Memory. Asking a traced array for it is a UserError that names the line and the remedy.
  const void* data() const;
  const std::vector<int64_t>& strides() const;  ///< in bytes
  bool is_dense() const;
  Array contiguous() const;  ///< itself when dense, a dense copy otherwise
  template <class T>
  std::vector<T> to_vector() const;
  template <class T>
  T item() const;  ///< of an array with one element

  const ArrayImpl& impl() const { return *impl_; }
  const std::shared_ptr<const ArrayImpl>& shared_impl() const { return impl_; }

 private:
  std::shared_ptr<const ArrayImpl> impl_;
};

/// What operations take: an array, or a number that adopts the dtype of the arrays it meets (as NumPy 2 does),
/// together with the line it was written on.
class TOKAMAK_API Operand {
 public:
  using Number = std::variant<bool, int64_t, double>;

  Operand(Array array, std::source_location where = std::source_location::current())  // NOLINT: implicit on purpose
      : value_(std::move(array)), where_(where) {}
  Operand(bool number, std::source_location where = std::source_location::current())  // NOLINT
      : value_(Number(number)), where_(where) {}
  Operand(int number, std::source_location where = std::source_location::current())  // NOLINT
      : value_(Number(int64_t{number})), where_(where) {}
  Operand(int64_t number, std::source_location where = std::source_location::current())  // NOLINT
      : value_(Number(number)), where_(where) {}
  Operand(double number, std::source_location where = std::source_location::current())  // NOLINT
      : value_(Number(number)), where_(where) {}

  const Array* array() const { return std::get_if<Array>(&value_); }
  const Number* number() const { return std::get_if<Number>(&value_); }
  const std::source_location& where() const { return where_; }

 private:
  std::variant<Array, Number> value_;
  std::source_location where_;
};

}  // namespace tokamak
