#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cache/digest.h"

namespace tokamak {

/// What a file of the disk cache holds. In the file: the version of this format, a checksum of all that
/// follows, the key, the lengths of label and content, label, content.
struct CacheEntry {
  std::string label;
  std::string content;
};

std::string encode_entry(const Digest& key, std::string_view label, std::string_view content);

/// None if the bytes are anything but an entry for this key, to the last of them.
std::optional<CacheEntry> decode_entry(const Digest& key, std::string_view bytes);

/// The label of what may be an entry for any key, or empty.
std::string label_of_entry(std::string_view bytes);

}  // namespace tokamak
