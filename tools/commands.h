#pragma once

#include <span>
#include <string_view>

#include "arguments.h"

namespace tokamak::tool {

enum ExitCode : int {
  kOk = 0,
  kInputError = 1,     ///< the file or what is in it
  kUsageError = 2,     ///< the command line
  kInternalError = 3,  ///< a bug in Tokamak
};

/// A subcommand: its file defines the two functions and main.cpp's table has its line.
struct Command {
  std::string_view name;
  std::string_view usage;  ///< what follows "tokamak opt"
  std::string_view summary;
  std::span<const Option> (*options)();
  int (*run)(const Arguments& arguments);
};

std::span<const Option> opt_options();
int run_opt(const Arguments& arguments);

std::span<const Option> explain_options();
int run_explain(const Arguments& arguments);

std::span<const Option> run_options();
int run_run(const Arguments& arguments);

std::span<const Option> cache_options();
int run_cache(const Arguments& arguments);

}  // namespace tokamak::tool
