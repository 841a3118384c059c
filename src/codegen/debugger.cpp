#include "codegen/debugger.h"

#include <cstdint>
#include <mutex>

#include "support/forking.h"

// https://sourceware.org/gdb/current/onlinedocs/gdb.html/JIT-Interface.html. LLVM has the function in which
// debuggers stop, and the list they read: one of each for the process.
extern "C" {
enum JitAction : uint32_t { kJitNothing, kJitRegister, kJitUnregister };
struct jit_code_entry {
  jit_code_entry* next_entry;
  jit_code_entry* prev_entry;
  const char* symfile_addr;
  uint64_t symfile_size;
};
struct jit_descriptor {
  uint32_t version;
  uint32_t action_flag;
  jit_code_entry* relevant_entry;
  jit_code_entry* first_entry;
};
extern jit_descriptor __jit_debug_descriptor;  // NOLINT: debuggers know it by this name
void __jit_debug_register_code();              // NOLINT
}

namespace tokamak::codegen {

void register_with_debuggers(std::string object) {
  static auto* mutex = [] {
    auto* made = new std::mutex;
    hold_while_forking(*made, LockKind::leaf);
    return made;
  }();
  const std::lock_guard lock(*mutex);
  const auto* kept = new std::string(std::move(object));
  jit_descriptor& all = __jit_debug_descriptor;
  auto* entry = new jit_code_entry{all.first_entry, nullptr, kept->data(), kept->size()};
  if (all.first_entry != nullptr) all.first_entry->prev_entry = entry;
  all.first_entry = all.relevant_entry = entry;
  all.action_flag = kJitRegister;
  __jit_debug_register_code();
}

}  // namespace tokamak::codegen
