#pragma once

#include <string_view>

namespace tokamak {

/// Of the library that makes machine code.
std::string_view llvm_version();

}  // namespace tokamak
