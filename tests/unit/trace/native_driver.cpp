// The tests run over the compiler itself.

#include "trace/testing.h"

namespace tokamak::testing {

const bool kInterpreted = false;
int compile_count() { return -1; }
bool fail_next_compile() { return false; }

}  // namespace tokamak::testing
