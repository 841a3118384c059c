#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace tokamak {

/// A hash that nobody can find two texts for: equal digests mean equal texts.
using Digest = std::array<uint8_t, 32>;

Digest digest_of(std::string_view bytes);

/// 64 digits.
std::string to_hex(const Digest& digest);

/// Writes values one behind the other, so that different values make different bytes.
class Fingerprint {
 public:
  template <class T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) Fingerprint& add(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Fingerprint& add(std::string_view text) {
    add(text.size());
    bytes_.append(text);
    return *this;
  }

  const std::string& bytes() const { return bytes_; }
  Digest digest() const { return digest_of(bytes_); }

 private:
  std::string bytes_;
};

}  // namespace tokamak
