#pragma once

#include <cstdint>
#include <source_location>
#include <stdexcept>
#include <string>

#include "tokamak/export.h"

namespace TOKAMAK_API tokamak {

/// The user's line. Kept on every node, shown in every error, dump and report.
struct SourceLocation {
  std::string file;  ///< empty when unknown
  uint32_t line = 0;
  uint32_t column = 0;  ///< 0 when unknown; text IR knows it, Python and C++ do not
  std::string function;

  bool known() const { return !file.empty(); }
  static SourceLocation from(const std::source_location& where);

  friend bool operator==(const SourceLocation&, const SourceLocation&) = default;
};

/// "model.py:12, in forward"; empty when unknown.
std::string to_string(const SourceLocation& where);

/// Base of everything Tokamak throws. `what()` is the message followed by the user's line:
///   add: cannot broadcast f32[3,4] with f32[5]: axis 1 is 4 and 5
///     at model.py:12, in forward
class Error : public std::runtime_error {
 public:
  Error(const std::string& message, SourceLocation where = {});

  const std::string& message() const { return message_; }
  const SourceLocation& where() const { return where_; }

 private:
  std::string message_;
  SourceLocation where_;
};

/// The caller asked for something that has no meaning.
class UserError : public Error {
 public:
  /// What the mistake is about; Python raises the exception of the same name.
  enum class Kind : uint8_t { value, type, index, memory, zero_division, overflow, floating_point };

  UserError(const std::string& message, SourceLocation where = {}, Kind kind = Kind::value)
      : Error(message, std::move(where)), kind_(kind) {}

  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

/// Meaningful, but not something Tokamak does; the message says what to do instead.
class Unsupported : public Error {
 public:
  using Error::Error;
};

/// A bug in Tokamak. Never the user's fault.
class InternalError : public Error {
 public:
  using Error::Error;
};

}  // namespace tokamak
