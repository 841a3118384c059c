#include "codegen/llvm_version.h"

#include <llvm/Config/llvm-config.h>

namespace tokamak {

std::string_view llvm_version() { return LLVM_VERSION_STRING; }

}  // namespace tokamak
