#include "cache/entry.h"

#include <algorithm>
#include <cstring>

namespace tokamak {
namespace {

constexpr std::string_view kVersion = "tokamak1";

struct Header {
  char version[8];
  Digest checksum;  ///< of what follows
  Digest key;
  uint64_t label_bytes;
  uint64_t content_bytes;
};
static_assert(sizeof(Header) == 8 + 32 + 32 + 16);
constexpr size_t kChecked = offsetof(Header, key);

/// The header of bytes that are as long as it says.
std::optional<Header> header_of(std::string_view bytes) {
  Header header;
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::string_view(header.version, sizeof header.version) != kVersion) return std::nullopt;
  const size_t rest = bytes.size() - sizeof header;
  if (header.label_bytes > rest || header.content_bytes != rest - header.label_bytes) return std::nullopt;
  return header;
}

}  // namespace

std::string encode_entry(const Digest& key, std::string_view label, std::string_view content) {
  Header header{};
  std::copy(kVersion.begin(), kVersion.end(), header.version);
  header.key = key;
  header.label_bytes = label.size();
  header.content_bytes = content.size();
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes.append(label).append(content);
  header.checksum = digest_of(std::string_view(bytes).substr(kChecked));
  std::memcpy(bytes.data() + offsetof(Header, checksum), header.checksum.data(), header.checksum.size());
  return bytes;
}

std::optional<CacheEntry> decode_entry(const Digest& key, std::string_view bytes) {
  const std::optional<Header> header = header_of(bytes);
  if (!header || header->key != key || header->checksum != digest_of(bytes.substr(kChecked)))
    return std::nullopt;
  const std::string_view label = bytes.substr(sizeof(Header), header->label_bytes);
  return CacheEntry{std::string(label), std::string(bytes.substr(sizeof(Header) + label.size()))};
}

std::string label_of_entry(std::string_view bytes) {
  const std::optional<Header> header = header_of(bytes);
  return header ? std::string(bytes.substr(sizeof(Header), header->label_bytes)) : std::string();
}

}  // namespace tokamak
