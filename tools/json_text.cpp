#include "json_text.h"

#include <cstdio>

namespace tokamak::tool {

std::string json_number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

}  // namespace tokamak::tool
