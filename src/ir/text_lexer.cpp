#include "ir/text_lexer.h"

#include <algorithm>

namespace tokamak {
namespace {

// The C library's classification depends on the locale; text IR does not.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_name_char(char c) { return is_digit(c) || is_letter(c) || c == '_' || c == '.' || c == '$'; }
bool is_printable(char c) { return c >= ' ' && c <= '~'; }

constexpr char kHexDigits[] = "0123456789abcdef";

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string escaped(std::string_view text) {
  std::string result;
  for (char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (is_printable(c)) {
      result += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      result += {'\\', 'x', kHexDigits[byte >> 4], kHexDigits[byte & 15]};
    }
  }
  return result;
}

}  // namespace

bool is_plain_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), is_name_char);
}

std::string written_name(std::string_view name) {
  return is_plain_name(name) ? std::string(name) : "\"" + escaped(name) + "\"";
}

std::string shown(std::string_view text) {
  constexpr size_t kLongest = 40;
  const bool cut = text.size() > kLongest;
  return "'" + escaped(text.substr(0, kLongest)) + (cut ? "...'" : "'");
}

void Lexer::advance() {
  if (text_[at_] == '\n') {
    ++line_;
    column_ = 1;
  } else {
    ++column_;
  }
  ++at_;
}

void Lexer::skip_blanks() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '/' && peek(1) == '/') {
      while (at_ < text_.size() && text_[at_] != '\n') advance();
    } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      advance();
    } else {
      return;
    }
  }
}

std::string Lexer::quoted_name(const Token& token) {
  const SourceLocation where = location_of(token);
  std::string name;
  advance();  // the opening quote
  while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') {
    if (text_[at_] != '\\') {
      name += text_[at_];
      advance();
      continue;
    }
    const char kind = peek(1);
    const int high = hex_value(peek(2));
    const int low = hex_value(peek(3));
    int length = 2;
    if (kind == '"' || kind == '\\') {
      name += kind;
    } else if (kind == 'x' && high >= 0 && low >= 0) {
      name += static_cast<char>(high * 16 + low);
      length = 4;
    } else {
      throw UserError("a name has an escape that is not \\\", \\\\ or \\xNN", where);
    }
    for (int i = 0; i < length; ++i) advance();
  }
  if (peek() != '"') throw UserError("a quoted name is not closed on its line", where);
  advance();
  if (name.empty()) throw UserError("a name is empty", where);
  return name;
}

void Lexer::number() {
  if (peek() == '+' || peek() == '-') advance();
  const bool hex = peek() == '0' && (peek(1) == 'x' || peek(1) == 'X');
  while (is_name_char(peek())) {
    const char c = peek();
    advance();
    if (!hex && (c == 'e' || c == 'E') && (peek() == '+' || peek() == '-')) advance();
  }
}

Token Lexer::next() {
  skip_blanks();
  Token token;
  token.line = line_;
  token.column = column_;
  if (at_ >= text_.size()) return token;

  const size_t begin = at_;
  const char c = text_[at_];
  if (c == '%' || c == '@') {
    token.kind = c == '%' ? Token::Kind::value : Token::Kind::function;
    advance();
    if (peek() == '"') {
      token.name = quoted_name(token);
    } else {
      while (is_name_char(peek())) advance();
      token.name = text_.substr(begin + 1, at_ - begin - 1);
      if (token.name.empty()) {
        throw UserError(std::string("expected a name after '") + c + "'", location_of(token));
      }
    }
  } else if (is_digit(c) || c == '-' || c == '+' || (c == '.' && is_digit(peek(1)))) {
    token.kind = Token::Kind::number;
    number();
  } else if (is_letter(c) || c == '_') {
    token.kind = Token::Kind::word;
    while (is_name_char(peek())) advance();
  } else {
    token.kind = Token::Kind::punctuation;
    advance();
  }
  token.text = text_.substr(begin, at_ - begin);
  return token;
}

}  // namespace tokamak
