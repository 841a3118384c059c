#pragma once

#include <string>
#include <vector>

#include "support/json.h"

namespace tokamak::tool {

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

/// With all its digits.
std::string json_number(double value);

inline const char* json_bool(bool value) { return value ? "true" : "false"; }

}  // namespace tokamak::tool
