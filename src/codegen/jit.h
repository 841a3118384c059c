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
  virtual void* address_of(const std::string& symbol) = 0;
};

/// Links object code, binding undefined symbols to `externals` first, then to the process. Thread-safe.
std::unique_ptr<LinkedObject> link_object(std::span<const char> object, const std::string& name,
                                          const Externals& externals);

}  // namespace tokamak::codegen
