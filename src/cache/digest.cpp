#include "cache/digest.h"

#include <llvm/Support/BLAKE3.h>

#include <algorithm>

namespace tokamak {

Digest digest_of(std::string_view bytes) {
  Digest digest;
  const auto hash = llvm::BLAKE3::hash<32>(
      llvm::ArrayRef<uint8_t>(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
  std::copy(hash.begin(), hash.end(), digest.begin());
  return digest;
}

std::string to_hex(const Digest& digest) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace tokamak
