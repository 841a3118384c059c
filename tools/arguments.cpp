#include "arguments.h"

#include <algorithm>
#include <charconv>

namespace tokamak::tool {

Arguments::Arguments(std::span<const Option> options, std::span<char* const> words) {
  bool options_over = false;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (options_over || word == "-" || !word.starts_with('-')) {
      files_.emplace_back(word);
      continue;
    }
    if (word == "--") {
      options_over = true;
      continue;
    }
    const size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const auto option =
        std::find_if(options.begin(), options.end(), [&](const Option& o) { return o.name == name; });
    if (option == options.end()) throw UsageError("there is no option " + std::string(name));
    std::string value;
    if (equals != std::string_view::npos) {
      if (option->value.empty()) throw UsageError(std::string(name) + " takes no value");
      value = word.substr(equals + 1);
    } else if (!option->value.empty()) {
      if (i + 1 == words.size() || std::string_view(words[i + 1]).starts_with("--")) {
        throw UsageError(std::string(name) + " needs a value: " + std::string(name) + "=" +
                         std::string(option->value));
      }
      value = words[++i];
    }
    given_.push_back({option->name, std::move(value)});
  }
}

bool Arguments::has(std::string_view name) const { return value(name).has_value(); }

std::optional<std::string> Arguments::value(std::string_view name) const {
  std::optional<std::string> last;
  for (const Given& given : given_) {
    if (given.name == name) last = given.value;
  }
  return last;
}

std::vector<std::string> Arguments::list(std::string_view name) const {
  std::vector<std::string> words;
  const std::string text = value(name).value_or("");
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

uint64_t Arguments::integer(std::string_view name, uint64_t otherwise) const {
  const std::optional<std::string> text = value(name);
  if (!text) return otherwise;
  uint64_t number = 0;
  const char* end = text->data() + text->size();
  const auto result = std::from_chars(text->data(), end, number);
  if (result.ec != std::errc{} || result.ptr != end) {
    throw UsageError(std::string(name) + " takes a whole number, not '" + *text + "'");
  }
  return number;
}

const std::string& Arguments::file() const {
  if (files_.empty()) throw UsageError("which file? (- is the standard input)");
  if (files_.size() > 1) throw UsageError("one file at a time: " + files_[0] + " or " + files_[1]);
  return files_[0];
}

std::string help_of(std::span<const Option> options) {
  constexpr size_t kColumn = 26;
  std::string text;
  for (const Option& option : options) {
    std::string left = "  " + std::string(option.name);
    if (!option.value.empty()) left += "=" + std::string(option.value);
    left.resize(std::max(kColumn, left.size() + 2), ' ');
    text += left + std::string(option.help) + "\n";
  }
  return text;
}

}  // namespace tokamak::tool
