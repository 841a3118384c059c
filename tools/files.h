#pragma once

#include <string>

namespace tokamak::tool {

/// The whole file; "-" is the standard input. Throws UserError when it cannot be read.
std::string read_file(const std::string& path);

/// What errors call the file.
std::string shown_path(const std::string& path);

}  // namespace tokamak::tool
