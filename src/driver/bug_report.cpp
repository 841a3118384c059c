#include "driver/bug_report.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "ir/text.h"

namespace tokamak {
namespace {

/// Makes a new file in the folder for temporary files; empty when that fails.
std::string write_new_file(const std::string& text) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (error) return {};
  std::string path = (folder / "tokamak-bug-XXXXXX.tok").string();
  const int file = mkstemps(path.data(), 4);
  if (file < 0) return {};
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(file);
  return written ? path : std::string{};
}

}  // namespace

InternalError with_bug_report(const InternalError& error, const Graph& graph) noexcept {
  try {
    return with_bug_report(error, print(graph));
  } catch (...) {
    return error;
  }
}

InternalError with_bug_report(const InternalError& error, const std::string& program) noexcept {
  try {
    const std::string path =
        write_new_file("// " + error.message().substr(0, error.message().find('\n')) + "\n" + program);
    std::string message = error.message() + "\nThis is a bug in Tokamak.";
    if (!path.empty()) message += " The program that shows it is in " + path + "; please report it.";
    return {message, error.where()};
  } catch (...) {
    return error;
  }
}

}  // namespace tokamak
