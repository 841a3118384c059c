#include "support/verification.h"

#include <cstdlib>
#include <string_view>

namespace tokamak {

bool verification_enabled() {
#ifdef TOKAMAK_VERIFY_ALWAYS
  return true;
#else
  static const bool enabled = [] {
    const char* asked = std::getenv("TOKAMAK_VERIFY");
    return asked != nullptr && std::string_view(asked) == "1";
  }();
  return enabled;
#endif
}

}  // namespace tokamak
