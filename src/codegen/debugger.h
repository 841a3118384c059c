#pragma once

#include <string>

namespace tokamak::codegen {

/// Tells debuggers of code in this process, through the interface that gdb and lldb know: an object file
/// whose sections have the addresses they are at. It stays for good.
void register_with_debuggers(std::string object);

}  // namespace tokamak::codegen
