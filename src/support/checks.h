#pragma once

// What programs check of themselves while they run, to find out what went wrong: slow, and off by default.
// TOKAMAK_CHECK=bounds,nan,shadow asks for it at start, set_checks later. A program does what was asked for
// when it was compiled.

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace tokamak {

enum class Check : uint8_t {
  bounds,  ///< generated code reads and writes only the memory that its buffers have
  nan,     ///< no kernel makes a NaN of inputs that have none
  shadow,  ///< kernels and results agree with the interpreter
};
inline constexpr int kChecks = 3;

class Checks {
 public:
  constexpr Checks() = default;
  constexpr explicit Checks(uint8_t bits) : bits_(bits) {}

  constexpr bool has(Check check) const { return ((bits_ >> static_cast<int>(check)) & 1) != 0; }
  constexpr Checks with(Check check) const { return Checks(bits_ | (1U << static_cast<int>(check))); }
  constexpr bool any() const { return bits_ != 0; }
  constexpr uint8_t bits() const { return bits_; }
  /// The values that kernels read must still be there when they are done.
  constexpr bool compare_values() const { return has(Check::nan) || has(Check::shadow); }

  friend bool operator==(Checks, Checks) = default;

 private:
  uint8_t bits_ = 0;
};

namespace detail {
extern std::atomic<uint8_t> checks_asked_for;
}

/// What programs that are compiled now are to check.
inline Checks current_checks() { return Checks(detail::checks_asked_for.load(std::memory_order_relaxed)); }

/// Asks for just the checks of a comma-separated list: "bounds,nan", "all" or "". Throws UserError for a name
/// that is no check, and then changes nothing.
void set_checks(std::string_view names);

/// In the form that set_checks takes.
std::string to_string(Checks checks);

}  // namespace tokamak
