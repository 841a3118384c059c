#pragma once

#include <string_view>

namespace tokamak {

/// Calls use(name) for every non-empty name of a comma-separated list, without the spaces around it.
template <class Use>
void for_each_name(std::string_view list, Use use) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    std::string_view name = list.substr(0, comma);
    const size_t first = name.find_first_not_of(" \t");
    if (first != std::string_view::npos) use(name.substr(first, name.find_last_not_of(" \t") - first + 1));
    list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
  }
}

}  // namespace tokamak
