#include "files.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>

#include "tokamak/errors.h"

namespace tokamak::tool {

std::string read_file(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UserError("cannot open " + path + ": " + std::strerror(errno));
  std::string text;
  char buffer[1 << 16];
  while (file.read(buffer, sizeof(buffer)) || file.gcount() > 0) text.append(buffer, file.gcount());
  if (file.bad() || errno == EISDIR) throw UserError("cannot read " + path + ": " + std::strerror(errno));
  return text;
}

std::string shown_path(const std::string& path) { return path == "-" ? "<stdin>" : path; }

}  // namespace tokamak::tool
