#include "support/sizes.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tokamak {
namespace {

std::string three_digits(double value) {
  const int places = value < 1 ? 0 : std::max(0, 2 - static_cast<int>(std::floor(std::log10(value) + 1e-9)));
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", places, value);
  std::string digits = text;
  if (places > 0) {
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.back() == '.') digits.pop_back();
  }
  return digits;
}

}  // namespace

std::string bytes_text(int64_t bytes) {
  constexpr const char* kUnits[] = {" B", " KB", " MB", " GB", " TB", " PB", " EB"};
  auto amount = static_cast<double>(bytes);
  size_t unit = 0;
  for (; unit + 1 < std::size(kUnits) && amount >= 1000; ++unit) amount /= 1000;
  return three_digits(amount) + kUnits[unit];
}

}  // namespace tokamak
