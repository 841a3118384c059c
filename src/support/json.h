#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tokamak {

/// The text with escapes, \xff, for what is no UTF-8, as in names of files in another encoding.
std::string valid_utf8(std::string_view text);

/// The text as a string of JSON, with its quotes. What is no UTF-8 becomes U+FFFD.
std::string json_string(std::string_view text);

/// With as many digits as tell it from all others.
std::string json_number(double value);

inline const char* json_bool(bool value) { return value ? "true" : "false"; }

/// Elements as the list of JSON that `text` makes of each.
template <class T, class Text>
std::string json_list(const std::vector<T>& elements, Text text) {
  std::string list;
  for (const T& element : elements) (list += list.empty() ? "[" : ", ") += text(element);
  return list.empty() ? "[]" : list + "]";
}

/// Of what is JSON already.
inline std::string json_list(const std::vector<std::string>& elements) {
  return json_list(elements, [](const std::string& text) { return text; });
}

}  // namespace tokamak
