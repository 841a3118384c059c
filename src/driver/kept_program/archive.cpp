#include "driver/kept_program/archive.h"

#include <algorithm>

namespace tokamak::kept {
namespace {

constexpr size_t kNoCode = SIZE_MAX;
constexpr int64_t kMostLines = int64_t{1} << 40;

/// The bytes of a tensor, if there can be one of that type.
std::optional<size_t> bytes_of(const TensorType& type) {
  if (type.dtype > DType::f64) return std::nullopt;
  auto bytes = static_cast<int64_t>(size_of(type.dtype));
  for (const int64_t extent : type.shape)
    if (extent < 0 || __builtin_mul_overflow(bytes, extent, &bytes)) return std::nullopt;
  return static_cast<size_t>(bytes);
}

bool can_be_made(const ProductChoice& choice, const Cpu& cpu) {
  using Kind = ProductChoice::Kind;
  const auto& [kind, type, rows, columns, k, picture] = choice;
  const auto& [height, width, channels] = picture;
  if (kind > Kind::windowed || type > ProductType::bf16) return false;
  if (type == ProductType::bf16 && (!multiplies_bf16(cpu) || kind != Kind::packed)) return false;
  const bool is_float = type == ProductType::f32 || type == ProductType::f64;
  if (!is_float && (kind == Kind::vector || kind == Kind::windowed)) return false;
  const auto [least, most] = std::minmax({rows, columns, k, height, width, channels});
  return least >= 0 && most <= kMostLines &&
         (kind != Kind::windowed || std::min({rows, height, width, channels}) > 0);
}

}  // namespace

void Writer::code(const std::shared_ptr<const NativeKernel>& code) {
  if (code == nullptr) return value(kNoCode);
  const auto known = std::ranges::find(codes_, code.get());
  value(static_cast<size_t>(known - codes_.begin()));
  if (known == codes_.end()) codes_.push_back(code.get());
}

void Reader::code(std::shared_ptr<const NativeKernel>& code) {
  size_t number = kNoCode;
  value(number);
  if (number == kNoCode) return;
  // As a Writer has them: whichever comes first has the next number.
  require(number < codes_.size() && number <= codes_met_);
  if (!good_) return;
  codes_met_ = std::max(codes_met_, number + 1);
  code = codes_[number];
}

void Reader::tensor(const TensorType& type, Tensor& tensor) {
  const size_t size = count(0);
  require(bytes_of(type) == size);
  if (!good_) return;
  tensor = Tensor(type);
  take(tensor.mutable_data(), size);
}

void Reader::method(std::shared_ptr<const ProductMethod>& method, const ProductChoice& choice) {
  require(can_be_made(choice, cpu_));
  if (good_) method = make_product_method(choice, cpu_);
}

}  // namespace tokamak::kept
