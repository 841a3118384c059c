// The `tokamak` command.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>
#include <new>

#include "commands.h"
#include "tokamak/errors.h"

namespace tokamak::tool {
namespace {

constexpr Command kCommands[] = {
    {"opt", "[options] FILE", "run graph passes over text IR and print the result", opt_options, run_opt},
    {"explain", "[options] FILE", "compile the functions of a text IR file and show what became of them",
     explain_options, run_explain},
    {"run", "[options] FILE", "run the functions of a text IR file on made-up data", run_options, run_run},
    {"cache", "[size | list | path | clear]", "show or remove the compiled kernels that are kept on disk",
     cache_options, run_cache},
};

void print_help() {
  std::cout << "usage: tokamak COMMAND [options] ...\n\ncommands:\n";
  for (const Command& command : kCommands) {
    std::string left = "  " + std::string(command.name);
    left.resize(12, ' ');
    std::cout << left << command.summary << "\n";
  }
  std::cout << "\n'tokamak COMMAND --help' says more about one.\n";
}

void print_help(const Command& command) {
  std::cout << "usage: tokamak " << command.name << " " << command.usage << "\n\n"
            << command.summary << "\n\noptions:\n"
            << help_of(command.options()) << "  --help                  this text\n";
}

int run_command(const Command& command, std::span<char* const> words) {
  for (const std::string_view word : words) {
    if (word == "--") break;
    if (word == "--help" || word == "-h") {
      print_help(command);
      return kOk;
    }
  }
  try {
    return command.run(Arguments(command.options(), words));
  } catch (const UsageError& error) {
    std::cerr << "tokamak " << command.name << ": " << error.what() << "\n(see 'tokamak " << command.name
              << " --help')\n";
    return kUsageError;
  } catch (const InternalError& error) {
    std::cerr << "internal error (a bug in Tokamak): " << error.what() << "\n";
    return kInternalError;
  } catch (const Error& error) {
    std::cerr << "error: " << error.what() << "\n";
    return kInputError;
  } catch (const std::bad_alloc&) {
    std::cerr << "error: out of memory\n";
    return kInputError;
  }
}

int run(std::span<char* const> words) {
  if (words.empty()) {
    print_help();
    return kUsageError;
  }
  const std::string_view name = words[0];
  if (name == "--help" || name == "-h" || name == "help") {
    print_help();
    return kOk;
  }
  for (const Command& command : kCommands) {
    if (command.name == name) return run_command(command, words.subspan(1));
  }
  std::cerr << "tokamak: there is no command '" << name << "' (see 'tokamak --help')\n";
  return kUsageError;
}

/// What is printed to a standard output that is closed must not end up in a file that is opened in its place.
void keep_closed_what_is_closed() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) == -1 && errno == EBADF)
      (void)open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

/// All that is printed has to arrive. Whoever reads no further, as `head` does, has had enough: that needs no
/// message.
int run_and_flush(std::span<char* const> words) {
  keep_closed_what_is_closed();
  std::cout.exceptions(std::ios::badbit);
  try {
    const int code = run(words);
    std::cout.flush();
    return code;
  } catch (const std::ios_base::failure&) {
    const int reason = errno;
    std::cout.exceptions(std::ios::goodbit);  // it is flushed once more when the program ends
    if (reason != EPIPE)
      std::cerr << "error: cannot write to the standard output: " << std::strerror(reason) << "\n";
    return kInputError;
  }
}

}  // namespace
}  // namespace tokamak::tool

int main(int argc, char** argv) {
  return tokamak::tool::run_and_flush({argv + 1, static_cast<size_t>(argc > 0 ? argc - 1 : 0)});
}
