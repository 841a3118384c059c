#include "codegen/kept_code.h"

#include <cstring>

#include "cache/disk_cache.h"
#include "support/verification.h"
#include "tokamak/errors.h"

namespace tokamak::codegen {
namespace {

std::string encode(const ObjectCode& code) {
  Fingerprint out;
  out.add(code.externals.size());
  for (const std::string& name : code.externals) out.add(name);
  out.add(code.bytes);
  return out.bytes();
}

/// Reads what `encode` wrote; stops for good where there is less than it should be.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : rest_(bytes) {}

  std::optional<ObjectCode> run() {
    ObjectCode code;
    for (size_t count = number(); count > 0 && good_; --count) code.externals.insert(text());
    code.bytes = text();
    return good_ && rest_.empty() ? std::optional(std::move(code)) : std::nullopt;
  }

 private:
  size_t number() {
    size_t value = 0;
    good_ = good_ && rest_.size() >= sizeof value;
    if (!good_) return 0;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  std::string text() {
    const size_t size = number();
    good_ = good_ && rest_.size() >= size;
    if (!good_) return {};
    std::string value(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return value;
  }

  std::string_view rest_;
  bool good_ = true;
};

LinkedCode link(const CodeRequest& request, const ObjectCode& code) {
  Externals externals;
  for (const std::string& name : code.externals) {
    void* const address = external_address(name, request.cpu);
    if (address == nullptr) throw InternalError(request.name + " calls " + name + ", which is not known");
    externals.emplace(name, address);
  }
  LinkedCode linked;
  linked.object = link_object(code.bytes, request.name, externals);
  for (const std::string& symbol : request.symbols)
    linked.addresses.push_back(linked.object->address_of(symbol));
  return linked;
}

/// What the disk cache has, linked. Whatever may be wrong with it, then it has nothing.
std::optional<LinkedCode> link_found(const CodeRequest& request, const ObjectCode& found) {
  try {
    LinkedCode linked = link(request, found);
    linked.from_disk = true;
    return linked;
  } catch (const InternalError&) {
    return std::nullopt;
  }
}

std::optional<ObjectCode> find(const DiskCache& disk, const Digest& key) {
  const std::optional<std::string> bytes = disk.find(key);
  return bytes ? Decoder(*bytes).run() : std::nullopt;
}

}  // namespace

std::optional<LinkedCode> find_linked(const CodeRequest& request) {
  DiskCache* const disk = request.key ? DiskCache::instance() : nullptr;
  const std::optional<ObjectCode> found = disk != nullptr ? find(*disk, *request.key) : std::nullopt;
  return found ? link_found(request, *found) : std::nullopt;
}

LinkedCode link_kept(const CodeRequest& request, const std::function<ObjectCode()>& make) {
  DiskCache* const disk = request.key ? DiskCache::instance() : nullptr;
  if (disk == nullptr) return link(request, make());
  const std::optional<ObjectCode> found = find(*disk, *request.key);
  if (found && !verification_enabled()) {
    if (std::optional<LinkedCode> linked = link_found(request, *found)) return std::move(*linked);
  }
  const ObjectCode made = make();
  if (found && verification_enabled()) {
    if (made != *found)
      throw InternalError("the disk cache has other code for " + request.name +
                          ": there is something that the code depends on and its key does not tell");
    if (std::optional<LinkedCode> linked = link_found(request, *found)) return std::move(*linked);
  }
  disk->put(*request.key, request.name + " for " + request.cpu.name, encode(made));
  return link(request, made);
}

}  // namespace tokamak::codegen
