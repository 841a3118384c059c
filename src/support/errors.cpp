#include "tokamak/errors.h"

#include <utility>

namespace tokamak {

SourceLocation SourceLocation::from(const std::source_location& where) {
  return {where.file_name(), where.line(), where.column(), where.function_name()};
}

std::string to_string(const SourceLocation& where) {
  if (!where.known()) return {};
  std::string text = where.file;
  if (where.line != 0) text += ":" + std::to_string(where.line);
  if (where.column != 0) text += ":" + std::to_string(where.column);
  if (!where.function.empty()) text += ", in " + where.function;
  return text;
}

namespace {

std::string with_location(const std::string& message, const SourceLocation& where) {
  return where.known() ? message + "\n  at " + to_string(where) : message;
}

}  // namespace

Error::Error(const std::string& message, SourceLocation where)
    : std::runtime_error(with_location(message, where)), message_(message), where_(std::move(where)) {}

}  // namespace tokamak
