#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cache/digest.h"
#include "codegen/link.h"
#include "support/cpu.h"

namespace tokamak::codegen {

/// An object file, and the functions outside of it that it calls.
struct ObjectCode {
  std::string bytes;
  std::set<std::string> externals;

  friend bool operator==(const ObjectCode&, const ObjectCode&) = default;
};

struct LinkedCode {
  std::unique_ptr<LinkedObject> object;
  std::vector<void*> addresses;  ///< of the symbols that were asked for
  bool from_disk = false;
};

struct CodeRequest {
  std::string name;
  std::vector<std::string> symbols;
  std::optional<Digest> key;  ///< none: not for the disk cache
  const Cpu& cpu;
};

/// Links the object that the disk cache has for the key, if it has one that can be linked.
std::optional<LinkedCode> find_linked(const CodeRequest& request);

/// Links the object that the disk cache has for the key, or else the one that `make` makes, which it then
/// keeps. When the compiler checks its work, makes it in any case, and throws InternalError if it is not what
/// was kept.
LinkedCode link_kept(const CodeRequest& request, const std::function<ObjectCode()>& make);

}  // namespace tokamak::codegen
