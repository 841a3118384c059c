#pragma once

// Programs as bytes, and back. What a structure consists of is said once, in parts.h, for both directions.

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "cache/digest.h"
#include "codegen/codegen.h"
#include "ir/tensor.h"
#include "library/product.h"

namespace tokamak::kept {

/// What an archive takes: it reads into a part, or writes one that stays as it is.
template <class Archive, class T>
using Part = std::conditional_t<Archive::kReads, T&, const T&>;

/// Writes parts one behind the other. The code of kernels stands aside, each once.
class Writer {
 public:
  static constexpr bool kReads = false;

  template <class T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) void value(T value) { out_.add(value); }
  void value(bool value) { out_.add(static_cast<uint8_t>(value)); }
  void text(const std::string& text) { out_.add(text); }
  size_t count(size_t count) {
    out_.add(count);
    return count;
  }
  void tensor(const Tensor& tensor) {
    out_.add(std::string_view(reinterpret_cast<const char*>(tensor.data()), tensor.byte_size()));
  }
  void code(const std::shared_ptr<const NativeKernel>& code);

  const std::string& bytes() const { return out_.bytes(); }
  const std::vector<const NativeKernel*>& codes() const { return codes_; }

 private:
  Fingerprint out_;
  std::vector<const NativeKernel*> codes_;
};

/// Reads what a Writer wrote; stops for good where there is anything else.
class Reader {
 public:
  static constexpr bool kReads = true;

  Reader(std::string_view bytes, const Cpu& cpu) : rest_(bytes), cpu_(cpu) {}

  template <class T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) void value(T& value) { take(&value, sizeof value); }
  void value(bool& value) {
    uint8_t byte = 0;
    take(&byte, 1);
    require(byte <= 1);
    value = byte == 1;
  }
  void text(std::string& text) {
    text.resize(count(0));
    take(text.data(), text.size());
  }
  /// Of things of at least a byte each.
  size_t count(size_t /*before*/) {
    size_t count = 0;
    value(count);
    require(count <= rest_.size());
    return good_ ? count : 0;
  }
  /// Into a tensor of the type that was read before.
  void tensor(const TensorType& type, Tensor& tensor);
  void code(std::shared_ptr<const NativeKernel>& code);
  void method(std::shared_ptr<const ProductMethod>& method, const ProductChoice& choice);

  void set_codes(std::vector<std::shared_ptr<const NativeKernel>> codes) { codes_ = std::move(codes); }
  void require(bool holds) { good_ = good_ && holds; }
  bool is_good() const { return good_; }
  /// Of the bytes, and of the code that they name.
  bool is_at_end() const { return rest_.empty() && codes_met_ == codes_.size(); }

 private:
  void take(void* to, size_t bytes) {
    require(rest_.size() >= bytes);
    if (!good_ || bytes == 0) return;
    std::memcpy(to, rest_.data(), bytes);
    rest_.remove_prefix(bytes);
  }

  std::string_view rest_;
  const Cpu& cpu_;
  std::vector<std::shared_ptr<const NativeKernel>> codes_;
  size_t codes_met_ = 0;
  bool good_ = true;
};

}  // namespace tokamak::kept
