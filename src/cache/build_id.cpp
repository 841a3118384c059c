#include "cache/build_id.h"

#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstring>

namespace tokamak {
namespace {

struct Search {
  uintptr_t address;
  std::string build_id;
};

size_t aligned(size_t size, size_t alignment) { return (size + alignment - 1) / alignment * alignment; }

/// The build id among the notes of a segment, if it is there.
std::string build_id_in(const char* notes, size_t size, size_t alignment) {
  size_t at = 0;
  while (at + sizeof(ElfW(Nhdr)) <= size) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes + at, sizeof note);
    const size_t name = at + sizeof note;
    const size_t content = aligned(name + note.n_namesz, alignment);
    const size_t end = content + note.n_descsz;
    if (end > size) break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(notes + name, "GNU", 4) == 0)
      return {notes + content, note.n_descsz};
    at = aligned(end, alignment);
  }
  return {};
}

int look_at(dl_phdr_info* object, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  const ElfW(Phdr)* const segments = object->dlpi_phdr;
  bool is_here = false;
  for (size_t i = 0; i < object->dlpi_phnum; ++i) {
    const uintptr_t start = object->dlpi_addr + segments[i].p_vaddr;
    is_here |= segments[i].p_type == PT_LOAD && search.address >= start &&
               search.address < start + segments[i].p_memsz;
  }
  if (!is_here) return 0;
  for (size_t i = 0; i < object->dlpi_phnum && search.build_id.empty(); ++i) {
    if (segments[i].p_type != PT_NOTE) continue;
    const auto* notes = reinterpret_cast<const char*>(object->dlpi_addr + segments[i].p_vaddr);
    search.build_id = build_id_in(notes, segments[i].p_memsz, segments[i].p_align == 8 ? 8 : 4);
  }
  return 1;
}

}  // namespace

std::string build_id_of(const void* address) {
  Search search{reinterpret_cast<uintptr_t>(address), {}};
  dl_iterate_phdr(look_at, &search);
  return search.build_id;
}

}  // namespace tokamak
