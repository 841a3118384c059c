#include "trace/location.h"

#include <atomic>

namespace tokamak {
namespace {

std::atomic<LocationProvider> provider = nullptr;
thread_local const std::source_location* outermost = nullptr;

}  // namespace

void set_location_provider(LocationProvider new_provider) {
  provider.store(new_provider, std::memory_order_release);
}

SourceLocation user_line(const std::source_location& where) {
  if (LocationProvider ask = provider.load(std::memory_order_acquire)) {
    if (SourceLocation line = ask(); line.known()) return line;
  }
  return SourceLocation::from(outermost != nullptr ? *outermost : where);
}

AtLine::AtLine(const std::source_location& where) : outer_(outermost), where_(where) {
  if (outermost == nullptr) outermost = &where_;
}

AtLine::~AtLine() { outermost = outer_; }

}  // namespace tokamak
