#include "trace/location.h"

#include <atomic>

namespace tokamak {
namespace {

std::atomic<LocationProvider> provider = nullptr;
thread_local AtLine* outermost = nullptr;

SourceLocation line_at(const std::source_location& where) {
  const LocationProvider ask = provider.load(std::memory_order_acquire);
  SourceLocation line = ask == nullptr ? SourceLocation() : ask();
  return line.known() ? line : SourceLocation::from(where);
}

}  // namespace

void set_location_provider(LocationProvider new_provider) {
  provider.store(new_provider, std::memory_order_release);
}

SourceLocation user_line(const std::source_location& where) {
  return outermost != nullptr ? outermost->line() : line_at(where);
}

AtLine::AtLine(const std::source_location& where) : outer_(outermost), where_(where) {
  if (outermost == nullptr) outermost = this;
}

AtLine::~AtLine() { outermost = outer_; }

const SourceLocation& AtLine::line() {
  if (!line_.known()) line_ = line_at(where_);
  return line_;
}

}  // namespace tokamak
