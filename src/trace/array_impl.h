#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <source_location>
#include <variant>
#include <vector>

#include "ir/graph.h"
#include "ir/layout.h"
#include "ir/tensor.h"
#include "tokamak/array.h"

namespace tokamak {

class Trace;

/// Elements in memory: those of a pool block, of somebody else, or a strided view of either.
struct Memory {
  std::shared_ptr<void> owner;   ///< keeps the bytes alive
  std::byte* data = nullptr;     ///< the first element (the one at index 0 along every axis)
  std::vector<int64_t> strides;  ///< in bytes, one per axis
  Layout layout;                 ///< of these strides, kept because every call asks for it
  bool writeable = true;         ///< whether a result may take it over when it is donated
};

/// A value of a function that is being recorded.
struct Recorded {
  std::shared_ptr<Trace> trace;
  Value value;
};

/// What an Array shares with its copies. Immutable, except that it can be donated, once.
class ArrayImpl {
 public:
  ArrayImpl(TensorType type, Memory memory) : type_(std::move(type)), state_(std::move(memory)) {}
  ArrayImpl(TensorType type, Recorded recorded) : type_(std::move(type)), state_(std::move(recorded)) {}

  const TensorType& type() const { return type_; }
  const Memory* memory() const { return std::get_if<Memory>(&state_); }
  const Recorded* recorded() const { return std::get_if<Recorded>(&state_); }

  bool is_donated() const { return donated_.load(std::memory_order_relaxed); }
  void donate() const { donated_.store(true, std::memory_order_relaxed); }

 private:
  TensorType type_;
  std::variant<Memory, Recorded> state_;
  mutable std::atomic<bool> donated_ = false;
};

/// Checks rank, extents and that the size in bytes fits; throws UserError.
void check_type(const TensorType& type, const std::source_location& where);

/// The memory of an array; throws UserError when the array is empty, traced or was donated. `what` opens the
/// message.
const Memory& memory_of(const Array& array, const char* what, const std::source_location& where);

/// A dense array in a fresh pool block, its contents unspecified. UserError (kind memory) when there is none.
Array allocate_array(TensorType type);

/// An array over memory that something else owns or shares.
Array make_array(TensorType type, Memory memory);
Array make_view(TensorType type, const Memory& of, std::byte* data, std::vector<int64_t> strides);

/// A rank-0 or small array holding a tensor's elements.
Array array_of(const Tensor& tensor);
/// The elements of a concrete array, dense.
Tensor tensor_of(const Array& array);

}  // namespace tokamak
