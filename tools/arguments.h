#pragma once

#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tokamak::tool {

/// The command line is wrong: the message is shown with a hint at --help, and the exit code is 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An option of a subcommand: "--types", or "--passes=NAMES" (also "--passes NAMES") when `value` names what
/// it takes.
struct Option {
  std::string_view name;   ///< with its dashes
  std::string_view value;  ///< empty for a switch
  std::string_view help;
};

/// The words after the subcommand, taken apart by the options it has. "--" ends the options; "-" is a file.
class Arguments {
 public:
  Arguments(std::span<const Option> options, std::span<char* const> words);

  bool has(std::string_view name) const;
  std::optional<std::string> value(std::string_view name) const;
  /// "a,b" as two words; empty when the option is not given.
  std::vector<std::string> list(std::string_view name) const;
  /// A whole number that is not negative.
  uint64_t integer(std::string_view name, uint64_t otherwise) const;

  const std::vector<std::string>& files() const { return files_; }
  /// The only file; throws UsageError when there is none or another.
  const std::string& file() const;

 private:
  struct Given {
    std::string_view name;
    std::string value;
  };
  std::vector<Given> given_;
  std::vector<std::string> files_;
};

/// The lines of --help, one per option.
std::string help_of(std::span<const Option> options);

}  // namespace tokamak::tool
