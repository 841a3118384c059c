#include "support/json.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace tokamak {
namespace {

/// How many bytes of valid UTF-8 begin here; 0 if none.
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto continues = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return continues(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool overlong = first == 0xe0 && second < 0xa0, surrogate = first == 0xed && second > 0x9f;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool overlong = first == 0xf0 && second < 0x90, too_large = first == 0xf4 && second > 0x8f;
    return continues(1) && continues(2) && continues(3) && !overlong && !too_large ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string valid;
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8_length(text.substr(i));
    if (length == 0) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned char>(text[i]));
      valid += escape;
    } else {
      valid += text.substr(i, length);
    }
    i += std::max<size_t>(length, 1);
  }
  return valid;
}

std::string json_string(std::string_view text) {
  std::string quoted = "\"";
  for (size_t i = 0; i < text.size();) {
    const auto character = static_cast<unsigned char>(text[i]);
    const size_t length = utf8_length(text.substr(i));
    if (character == '"' || character == '\\') {
      (quoted += '\\') += text[i];
    } else if (character < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", character);
      quoted += escape;
    } else if (length == 0) {
      quoted += "\\ufffd";
    } else {
      quoted += text.substr(i, length);
    }
    i += std::max<size_t>(length, 1);
  }
  return quoted + '"';
}

std::string json_number(double value) {
  char text[40];
  for (int digits = 15; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    if (std::strtod(text, nullptr) == value) break;
  }
  return text;
}

}  // namespace tokamak
