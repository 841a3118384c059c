#include "tokamak/types.h"

#include <array>

namespace tokamak {
namespace {

enum class DTypeClass : uint8_t { boolean, signed_integer, unsigned_integer, floating };

struct DTypeRecord {
  std::string_view name;
  uint8_t size;
  DTypeClass kind;
};

constexpr std::array<DTypeRecord, std::size(kAllDTypes)> kDTypes = {{
    {"bool", 1, DTypeClass::boolean},
    {"i8", 1, DTypeClass::signed_integer},
    {"i16", 2, DTypeClass::signed_integer},
    {"i32", 4, DTypeClass::signed_integer},
    {"i64", 8, DTypeClass::signed_integer},
    {"u8", 1, DTypeClass::unsigned_integer},
    {"u16", 2, DTypeClass::unsigned_integer},
    {"u32", 4, DTypeClass::unsigned_integer},
    {"u64", 8, DTypeClass::unsigned_integer},
    {"f16", 2, DTypeClass::floating},
    {"bf16", 2, DTypeClass::floating},
    {"f32", 4, DTypeClass::floating},
    {"f64", 8, DTypeClass::floating},
}};

const DTypeRecord& record(DType dtype) { return kDTypes[static_cast<size_t>(dtype)]; }

}  // namespace

size_t size_of(DType dtype) { return record(dtype).size; }
bool is_float(DType dtype) { return record(dtype).kind == DTypeClass::floating; }
bool is_signed_integer(DType dtype) { return record(dtype).kind == DTypeClass::signed_integer; }
bool is_unsigned_integer(DType dtype) { return record(dtype).kind == DTypeClass::unsigned_integer; }
bool is_integer(DType dtype) { return is_signed_integer(dtype) || is_unsigned_integer(dtype); }
std::string_view name_of(DType dtype) { return record(dtype).name; }

std::optional<DType> dtype_named(std::string_view name) {
  for (DType dtype : kAllDTypes) {
    if (name_of(dtype) == name) return dtype;
  }
  return std::nullopt;
}

int64_t element_count(std::span<const int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  return count;
}

std::string to_string(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i != 0) text += ",";
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

std::string to_string(const TensorType& type) {
  return std::string(name_of(type.dtype)) + to_string(std::span<const int64_t>(type.shape));
}

}  // namespace tokamak
