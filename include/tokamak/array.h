#pragma once

#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tokamak/errors.h"
#include "tokamak/export.h"
#include "tokamak/types.h"

namespace tokamak {

class ArrayImpl;  ///< concrete memory, or a value of a function being traced

/// The dtype whose elements C++ calls `T`.
template <class T>
constexpr DType dtype_of() {
  static_assert(std::is_arithmetic_v<T>, "elements are numbers or bools");
  if constexpr (std::is_same_v<T, bool>) return DType::boolean;
  if constexpr (std::is_same_v<T, float>) return DType::f32;
  if constexpr (std::is_same_v<T, double>) return DType::f64;
  constexpr bool is_signed = std::is_signed_v<T>;
  if constexpr (sizeof(T) == 1) return is_signed ? DType::i8 : DType::u8;
  if constexpr (sizeof(T) == 2) return is_signed ? DType::i16 : DType::u16;
  if constexpr (sizeof(T) == 4) return is_signed ? DType::i32 : DType::u32;
  return is_signed ? DType::i64 : DType::u64;
}

/// An array: memory, or, inside a function given to `jit`, a value that is being recorded. Copies share.
/// The operations in functions.h work on both; on memory they run at once, one kernel each.
class TOKAMAK_API Array {
 public:
  using Where = std::source_location;

  Array() = default;
  explicit Array(std::shared_ptr<const ArrayImpl> impl) : impl_(std::move(impl)) {}

  /// Copies dense row-major elements, stored as `type.dtype` is (bool one byte, f16 and bf16 two).
  static Array from_bytes(TensorType type, const void* bytes, Where where = Where::current());
  /// Copies elements; `shape` must hold as many.
  template <class T>
  static Array from(std::span<const T> elements, Shape shape, Where where = Where::current()) {
    check_count(static_cast<int64_t>(elements.size()), shape, where);
    return from_bytes({dtype_of<T>(), std::move(shape)}, elements.data(), where);
  }
  template <class T>
  static Array from(const std::vector<T>& elements, Shape shape, Where where = Where::current()) {
    return from(std::span<const T>(elements), std::move(shape), where);
  }
  /// Uses memory of somebody else without copying; `owner` keeps it alive. Strides in bytes; empty means
  /// dense.
  static Array wrap(void* data, TensorType type, std::vector<int64_t> strides, std::shared_ptr<void> owner,
                    Where where = Where::current());

  bool is_valid() const { return impl_ != nullptr; }
  bool is_traced() const;
  const TensorType& type(Where where = Where::current()) const;
  DType dtype(Where where = Where::current()) const { return type(where).dtype; }
  const Shape& shape(Where where = Where::current()) const { return type(where).shape; }
  int64_t rank(Where where = Where::current()) const { return type(where).rank(); }
  int64_t size(Where where = Where::current()) const { return type(where).elements(); }

  // Memory. Asking a traced array for it is a UserError that names the line and the remedy.
  const void* data(Where where = Where::current()) const;
  const std::vector<int64_t>& strides(Where where = Where::current()) const;  ///< in bytes
  bool is_dense(Where where = Where::current()) const;
  Array contiguous(Where where = Where::current()) const;  ///< itself when dense, a dense copy otherwise
  /// The elements in row-major order. `T` must be the array's element type (uint16_t for f16 and bf16).
  template <class T>
  std::vector<T> to_vector(Where where = Where::current()) const;
  /// The one element of an array that has one, converted to `T`.
  template <class T>
  T item(Where where = Where::current()) const;

  const ArrayImpl& impl() const { return *impl_; }
  const std::shared_ptr<const ArrayImpl>& shared_impl() const { return impl_; }

 private:
  static void check_count(int64_t elements, const Shape& shape, Where where);
  void check_elements_are(DType dtype, Where where) const;
  void copy_dense(void* to, Where where) const;
  double item_as_double(Where where) const;
  int64_t item_as_int(Where where) const;  ///< u64 keeps its bits

  std::shared_ptr<const ArrayImpl> impl_;
};

template <class T>
std::vector<T> Array::to_vector(Where where) const {
  check_elements_are(dtype_of<T>(), where);
  const auto count = static_cast<size_t>(size(where));
  if constexpr (std::is_same_v<T, bool>) {  // std::vector<bool> has no data()
    std::vector<uint8_t> bytes(count);
    copy_dense(bytes.data(), where);
    return std::vector<bool>(bytes.begin(), bytes.end());
  } else {
    std::vector<T> elements(count);
    copy_dense(elements.data(), where);
    return elements;
  }
}

template <class T>
T Array::item(Where where) const {
  if (is_float(dtype(where))) return static_cast<T>(item_as_double(where));
  if (dtype(where) == DType::u64) return static_cast<T>(static_cast<uint64_t>(item_as_int(where)));
  return static_cast<T>(item_as_int(where));
}

/// What operations take: an array, or a number that adopts the dtype of the arrays it meets (as NumPy 2
/// does), together with the line it was written on.
class TOKAMAK_API Operand {
 public:
  using Number = std::variant<bool, int64_t, uint64_t, double>;
  using Where = std::source_location;

  Operand(Array array, Where where = Where::current())  // NOLINT: implicit on purpose
      : value_(std::move(array)), where_(where) {}
  template <class T>
  requires std::is_arithmetic_v<T> Operand(T number,
                                           Where where = Where::current())  // NOLINT: implicit on purpose
      : value_(widen(number)), where_(where) {}
  Operand(Number number, Where where) : value_(number), where_(where) {}

  const Array* array() const { return std::get_if<Array>(&value_); }
  const Number* number() const { return std::get_if<Number>(&value_); }
  const Where& where() const { return where_; }

 private:
  template <class T>
  static Number widen(T number) {
    if constexpr (std::is_same_v<T, bool>) return number;
    if constexpr (std::is_floating_point_v<T>) return static_cast<double>(number);
    if constexpr (std::is_signed_v<T>) return static_cast<int64_t>(number);
    return static_cast<uint64_t>(number);
  }

  std::variant<Array, Number> value_;
  Where where_;
};

}  // namespace tokamak
