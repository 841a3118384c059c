#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tokamak/errors.h"

namespace tokamak {

/// One word of text IR. `text` points into the source.
struct Token {
  enum class Kind : uint8_t {
    word,         ///< add, f32, func, nan
    value,        ///< %x or %"any bytes"; `name` holds what follows the sign
    function,     ///< @f or @"any bytes"; likewise
    number,       ///< starts with a digit or a sign; what it means is decided where a dtype is known
    punctuation,  ///< one character
    end,
  };
  Kind kind = Kind::end;
  std::string_view text;
  std::string name;
  uint32_t line = 1;
  uint32_t column = 1;

  bool is(char punctuation) const {
    return kind == Kind::punctuation && text.size() == 1 && text[0] == punctuation;
  }
  bool is_word(std::string_view word) const { return kind == Kind::word && text == word; }
};

/// Cuts text into tokens, one at a time. Skips blanks and `//` comments. Any byte may occur in the input.
class Lexer {
 public:
  Lexer(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Token next();
  SourceLocation location_of(const Token& token) const { return {file_, token.line, token.column, {}}; }

 private:
  void skip_blanks();
  void advance();
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  std::string quoted_name(const Token& token);
  void number();

  std::string_view text_;
  const std::string& file_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  uint32_t column_ = 1;
};

/// Whether `name` can stand after % or @ without quotes.
bool is_plain_name(std::string_view name);

/// The name as written after % or @: plain, or quoted with escapes.
std::string written_name(std::string_view name);

/// A piece of input for an error message: in quotes, shortened, unprintable bytes escaped.
std::string shown(std::string_view text);

}  // namespace tokamak
