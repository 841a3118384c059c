// An object file becomes code that runs: its sections are copied into memory of their own, references between
// them are filled in, and what must not be written any more is protected. A general linker in memory, such as
// LLVM's, takes some thirty times as long for our few sections and references.

#include "codegen/link.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "codegen/code_names.h"
#include "codegen/debugger.h"
#include "support/rounding.h"
#include "tokamak/errors.h"

namespace tokamak::codegen {
namespace {

/// Kinds of memory, one behind the other; each begins a page.
enum Kind : size_t { kCode, kConstants, kVariables, kKinds };
constexpr std::array<int, kKinds> kProtection = {PROT_READ | PROT_EXEC, PROT_READ, PROT_READ | PROT_WRITE};

constexpr uint64_t kMostBytes = uint64_t{1} << 30;  ///< references reach 2 GB
constexpr uint64_t kStubBytes = 8;

/// An object file as its bytes say it is; nothing is read that is not in them.
class ObjectFile {
 public:
  explicit ObjectFile(std::span<const char> bytes) : bytes_(bytes) {
    const auto header = at<Elf64_Ehdr>(0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_REL || header.e_machine != EM_X86_64)
      fail("not an object file for x86-64");
    header_offset = header.e_shoff;
    for (size_t i = 0; i < header.e_shnum; ++i)
      sections.push_back(at<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr)));
    for (const Elf64_Shdr& section : sections) {
      if (section.sh_type != SHT_SYMTAB) continue;
      if (!symbols.empty()) fail("two tables of symbols");
      symbols = all<Elf64_Sym>(section);
      names_ = content(section_at(section.sh_link));
    }
  }

  [[noreturn]] static void fail(const std::string& what) { throw InternalError(what); }

  const Elf64_Shdr& section_at(size_t index) const {
    if (index >= sections.size()) fail("a section that is not there");
    return sections[index];
  }
  const Elf64_Sym& symbol_at(size_t index) const {
    if (index >= symbols.size()) fail("a symbol that is not there");
    return symbols[index];
  }
  std::string name_of(const Elf64_Sym& symbol) const {
    if (symbol.st_name >= names_.size()) fail("a name that is not there");
    const std::span<const char> rest = names_.subspan(symbol.st_name);
    return {rest.data(), strnlen(rest.data(), rest.size())};
  }
  std::span<const char> content(const Elf64_Shdr& section) const {
    if (section.sh_offset > bytes_.size() || section.sh_size > bytes_.size() - section.sh_offset)
      fail("a section beyond the end");
    return bytes_.subspan(section.sh_offset, section.sh_size);
  }
  template <class T>
  std::vector<T> all(const Elf64_Shdr& section) const {
    const std::span<const char> from = content(section);
    std::vector<T> items(from.size() / sizeof(T));
    if (!items.empty()) std::memcpy(items.data(), from.data(), items.size() * sizeof(T));
    return items;
  }

  std::vector<Elf64_Shdr> sections;
  std::vector<Elf64_Sym> symbols;
  uint64_t header_offset = 0;  ///< where the sections are described

 private:
  template <class T>
  T at(uint64_t offset) const {
    if (offset > bytes_.size() || sizeof(T) > bytes_.size() - offset) fail("cut short");
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }

  std::span<const char> bytes_;
  std::span<const char> names_;
};

bool reads_slot(uint64_t type) {
  return type == R_X86_64_GOTPCREL || type == R_X86_64_GOTPCRELX || type == R_X86_64_REX_GOTPCRELX;
}

/// Memory of pages that are given back.
class Pages {
 public:
  explicit Pages(size_t bytes) : bytes_(bytes) {
    void* const found = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<char*>(found);
  }
  ~Pages() {
    if (!keeps_code_in_place()) munmap(data_, bytes_);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  char* data() const { return data_; }
  void protect(size_t begin, size_t end, int protection) const {
    if (begin != end && mprotect(data_ + begin, end - begin, protection) != 0)
      throw InternalError("the system does not let memory be code: " + std::string(std::strerror(errno)));
  }

 private:
  char* data_;
  size_t bytes_;
};

/// Where everything goes: sections by kind, then for each symbol that is reached from afar a slot with its
/// address, among the constants, and for those outside a jump through it, behind the code.
class Link {
 public:
  Link(std::span<const char> object, const Externals& externals)
      : object_(object), file_(object), externals_(externals), offset_(file_.sections.size()) {}

  struct Result {
    std::unique_ptr<Pages> pages;
    std::map<std::string, void*> symbols;
  };
  Result run() {
    place_sections();
    place_slots();
    const std::array<uint64_t, kKinds> begins = {0, size_[kCode], size_[kCode] + size_[kConstants]};
    for (size_t i = 0; i < offset_.size(); ++i)
      if (offset_[i]) *offset_[i] += begins[kind_of(file_.sections[i])];
    for (auto& [symbol, slot] : slots_) slot += begins[kConstants];
    const uint64_t bytes = begins[kVariables] + size_[kVariables];
    pages_ = std::make_unique<Pages>(std::max<uint64_t>(bytes, 1));
    copy_sections();
    fill_slots();
    for (const Elf64_Shdr& section : file_.sections)
      if (section.sh_type == SHT_RELA) fill_references(section);
    for (const Kind kind : {kCode, kConstants})
      pages_->protect(begins[kind], begins[kind] + size_[kind], kProtection[kind]);
    std::map<std::string, void*> symbols = defined_symbols();
    tell_tools();
    return {std::move(pages_), std::move(symbols)};
  }

 private:
  static Kind kind_of(const Elf64_Shdr& section) {
    if ((section.sh_flags & SHF_EXECINSTR) != 0) return kCode;
    return (section.sh_flags & SHF_WRITE) != 0 ? kVariables : kConstants;
  }

  /// Room for so many bytes; where in its kind.
  uint64_t add(Kind kind, uint64_t bytes, uint64_t alignment) {
    if (bytes > kMostBytes) ObjectFile::fail("more code than there can be");
    const uint64_t at = round_up(size_[kind], std::max<uint64_t>(alignment, 1));
    size_[kind] = at + bytes;
    if (size_[kind] > kMostBytes) ObjectFile::fail("more code than there can be");
    return at;
  }

  void place_sections() {
    for (size_t i = 0; i < offset_.size(); ++i) {
      const Elf64_Shdr& section = file_.sections[i];
      if ((section.sh_flags & SHF_ALLOC) == 0) continue;
      if (section.sh_addralign > page_ || (section.sh_addralign & (section.sh_addralign - 1)) != 0)
        ObjectFile::fail("a section of an alignment that pages do not have");
      if ((section.sh_flags & SHF_TLS) != 0) ObjectFile::fail("variables of threads");
      offset_[i] = add(kind_of(section), section.sh_size, section.sh_addralign);
    }
  }

  void place_slots() {
    for (const Elf64_Shdr& section : file_.sections) {
      if (section.sh_type == SHT_REL) ObjectFile::fail("references of an unknown kind");
      if (section.sh_type != SHT_RELA || !is_loaded(section.sh_info)) continue;
      for (const Elf64_Rela& reference : file_.all<Elf64_Rela>(section)) {
        const auto symbol = static_cast<uint32_t>(ELF64_R_SYM(reference.r_info));
        if (reads_slot(ELF64_R_TYPE(reference.r_info)) || is_outside(symbol)) slots_.emplace(symbol, 0);
      }
    }
    for (auto& [symbol, slot] : slots_) {
      slot = add(kConstants, sizeof(uint64_t), sizeof(uint64_t));
      if (is_outside(symbol)) stubs_[symbol] = add(kCode, kStubBytes, kStubBytes);
    }
    for (uint64_t& size : size_) size = round_up(size, page_);
  }

  bool is_loaded(size_t section) const { return section < offset_.size() && offset_[section].has_value(); }
  bool is_outside(size_t symbol) const { return file_.symbol_at(symbol).st_shndx == SHN_UNDEF; }

  char* at(uint64_t offset) const { return pages_->data() + offset; }
  static uint64_t number(const char* address) { return reinterpret_cast<uint64_t>(address); }

  void copy_sections() {
    for (size_t i = 0; i < offset_.size(); ++i) {
      const Elf64_Shdr& section = file_.sections[i];
      if (!offset_[i] || section.sh_type == SHT_NOBITS) continue;
      const std::span<const char> content = file_.content(section);
      if (!content.empty()) std::memcpy(at(*offset_[i]), content.data(), content.size());
    }
  }

  /// Of a symbol inside.
  char* place_of(const Elf64_Sym& symbol) const {
    if (!is_loaded(symbol.st_shndx) || symbol.st_value > file_.sections[symbol.st_shndx].sh_size)
      ObjectFile::fail("a symbol that is nowhere");
    return at(*offset_[symbol.st_shndx] + symbol.st_value);
  }

  void* outside_address(const std::string& name) const {
    if (const auto found = externals_.find(name); found != externals_.end()) return found->second;
    void* const address = name.empty() ? nullptr : dlsym(RTLD_DEFAULT, name.c_str());
    if (address == nullptr) ObjectFile::fail("'" + name + "' is called, and is nowhere");
    return address;
  }

  void fill_slots() {
    for (const auto& [number_of, slot] : slots_) {
      const Elf64_Sym& symbol = file_.symbol_at(number_of);
      const void* const address =
          is_outside(number_of) ? outside_address(file_.name_of(symbol)) : place_of(symbol);
      std::memcpy(at(slot), static_cast<const void*>(&address), sizeof address);
    }
    for (const auto& [number_of, stub] : stubs_) {
      const std::array<unsigned char, 2> jump = {0xff, 0x25};  // jmp *slot(%rip)
      std::memcpy(at(stub), jump.data(), jump.size());
      put_distance(at(stub) + jump.size(), number(at(slots_.at(number_of))) - (number(at(stub)) + 6));
    }
  }

  static void put_distance(char* where, uint64_t distance) {
    const auto wide = static_cast<int64_t>(distance);
    const auto narrow = static_cast<int32_t>(wide);
    if (narrow != wide) ObjectFile::fail("a reference that reaches too far");
    std::memcpy(where, &narrow, sizeof narrow);
  }

  void fill_references(const Elf64_Shdr& section) {
    if (!is_loaded(section.sh_info)) return;
    const uint64_t bytes = file_.sections[section.sh_info].sh_size;
    for (const Elf64_Rela& reference : file_.all<Elf64_Rela>(section)) {
      const uint64_t type = ELF64_R_TYPE(reference.r_info);
      const uint64_t width = type == R_X86_64_64 ? 8 : 4;
      if (reference.r_offset > bytes || bytes - reference.r_offset < width)
        ObjectFile::fail("a reference outside of its section");
      char* const where = at(*offset_[section.sh_info] + reference.r_offset);
      const auto symbol = static_cast<uint32_t>(ELF64_R_SYM(reference.r_info));
      const char* const target = reads_slot(type)     ? at(slots_.at(symbol))
                                 : is_outside(symbol) ? at(stubs_.at(symbol))
                                                      : place_of(file_.symbol_at(symbol));
      const uint64_t value = number(target) + static_cast<uint64_t>(reference.r_addend);
      if (type == R_X86_64_64) {
        std::memcpy(where, &value, sizeof value);
      } else if (type == R_X86_64_PC32 || type == R_X86_64_PLT32 || reads_slot(type)) {
        put_distance(where, value - number(where));
      } else {
        ObjectFile::fail("a reference of type " + std::to_string(type));
      }
    }
  }

  std::map<std::string, void*> defined_symbols() const {
    std::map<std::string, void*> found;
    for (const Elf64_Sym& symbol : file_.symbols) {
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || !is_loaded(symbol.st_shndx)) continue;
      found.emplace(file_.name_of(symbol), place_of(symbol));
    }
    return found;
  }

  void tell_tools() const {
    if (registers_with_debuggers()) register_with_debuggers(placed_object());
    if (!lists_code()) return;
    for (const Elf64_Sym& symbol : file_.symbols) {
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || !is_loaded(symbol.st_shndx)) continue;
      const char* const place = place_of(symbol);
      const uint64_t rest = file_.sections[symbol.st_shndx].sh_size - symbol.st_value;
      const std::span<const char> code(place, std::min(symbol.st_size, rest));
      if (!code.empty()) list_code({"tokamak:" + file_.name_of(symbol), number(place), code});
    }
  }

  /// The object file with the addresses that its sections got.
  std::string placed_object() const {
    std::string placed(object_.data(), object_.size());
    for (size_t i = 0; i < offset_.size(); ++i) {
      if (!offset_[i]) continue;
      Elf64_Shdr section = file_.sections[i];
      section.sh_addr = number(at(*offset_[i]));
      std::memcpy(placed.data() + file_.header_offset + i * sizeof section, &section, sizeof section);
    }
    return placed;
  }

  const std::span<const char> object_;
  const ObjectFile file_;
  const Externals& externals_;
  const uint64_t page_ = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  std::vector<std::optional<uint64_t>> offset_;  ///< by section that is loaded
  std::map<uint32_t, uint64_t> slots_;           ///< by symbol
  std::map<uint32_t, uint64_t> stubs_;
  std::array<uint64_t, kKinds> size_ = {};
  std::unique_ptr<Pages> pages_;
};

class InPlace final : public LinkedObject {
 public:
  explicit InPlace(Link::Result linked) : linked_(std::move(linked)) {}

  void* address_of(const std::string& symbol) const override {
    const auto found = linked_.symbols.find(symbol);
    if (found == linked_.symbols.end()) throw InternalError("there is no '" + symbol + "' in its code");
    return found->second;
  }

 private:
  Link::Result linked_;
};

}  // namespace

std::unique_ptr<LinkedObject> link_object(std::span<const char> object, const std::string& name,
                                          const Externals& externals) {
  try {
    return std::make_unique<InPlace>(Link(object, externals).run());
  } catch (const InternalError& error) {
    throw InternalError("linking " + name + ": " + error.what());
  }
}

}  // namespace tokamak::codegen
