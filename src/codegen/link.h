#pragma once

#include <memory>
#include <span>
#include <string>

#include "codegen/external.h"

namespace tokamak::codegen {

/// An object file linked into this process. Its memory goes back when it is destroyed.
class LinkedObject {
 public:
  virtual ~LinkedObject() = default;
  /// Throws InternalError if the object has no such symbol.
  virtual void* address_of(const std::string& symbol) const = 0;
};

/// Links an object file for x86-64, binding undefined symbols to `externals` first, then to the process.
/// Knows what LLVM writes for our code: sections, symbols and a few kinds of references, no unwinding, no
/// constructors. Throws InternalError at all else, whatever the bytes are. Thread-safe.
std::unique_ptr<LinkedObject> link_object(std::span<const char> object, const std::string& name,
                                          const Externals& externals);

}  // namespace tokamak::codegen
