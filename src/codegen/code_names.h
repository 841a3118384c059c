#pragma once

// Names of generated code, for tools that look at the process from outside. Off unless asked for:
//   TOKAMAK_PERF=map      lines of /tmp/perf-PID.map, which `perf report` reads; code stays where it is
//   TOKAMAK_PERF=jitdump  jit-PID.dump, from which `perf inject --jit` makes files that `perf annotate` shows
//   TOKAMAK_GDB=1         gdb is told of every kernel, and code stays where it is

#include <cstdint>
#include <span>
#include <string>

namespace tokamak::codegen {

/// Whether list_code is of use.
bool lists_code();
bool registers_with_debuggers();
/// Whether somebody knows names by address and is not told when code has gone: what comes to its place would
/// have the old name.
bool keeps_code_in_place();

struct ListedCode {
  std::string name;
  uint64_t address;
  std::span<const char> code;
};

/// Notes a function wherever the environment asks for it. Thread-safe. What cannot be written is reported
/// once.
void list_code(const ListedCode& code);

}  // namespace tokamak::codegen
