#pragma once

#include <string>
#include <string_view>

namespace tokamak {

/// The text with escapes, \xff, for what is no UTF-8, as in names of files in another encoding.
std::string valid_utf8(std::string_view text);

/// The text as a string of JSON, with its quotes. What is no UTF-8 becomes U+FFFD.
std::string json_string(std::string_view text);

}  // namespace tokamak
