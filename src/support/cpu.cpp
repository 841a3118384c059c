#include "support/cpu.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "support/parts.h"
#include "tokamak/errors.h"

namespace tokamak {
namespace {

/// Of the last cache, for each processor that there is. A virtual machine of two processors is told of the
/// whole cache of a socket, which the processors of others fill as well, and which is no faster than memory
/// for so few.
constexpr long kShareOfProcessor = 16 << 20;

/// The last-level cache that this core reaches. sysconf tells what all sockets have together.
long shared_cache_bytes() {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index3/size");
  long kilobytes = 0;
  char unit = 0;
  if (!(file >> kilobytes >> unit)) return 0;
  return unit == 'M' ? kilobytes << 20 : kilobytes << 10;
}

Cpu with_caches_found(Cpu cpu) {
  auto known_or = [](long found, int64_t fallback) { return found > 0 ? int64_t{found} : fallback; };
  cpu.l1_bytes = known_or(sysconf(_SC_LEVEL1_DCACHE_SIZE), cpu.l1_bytes);
  cpu.l2_bytes = known_or(sysconf(_SC_LEVEL2_CACHE_SIZE), cpu.l2_bytes);
  const long processors = std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L);
  cpu.l3_bytes = known_or(std::min(shared_cache_bytes(), processors * kShareOfProcessor), cpu.l3_bytes);
  return cpu;
}

bool host_has_v3() { return __builtin_cpu_supports("x86-64-v3") != 0; }
bool host_has_v4() { return __builtin_cpu_supports("x86-64-v4") != 0; }

/// Bits of XCR0: what the system saves of a thread.
constexpr uint64_t kTileState = uint64_t{3} << 17;

uint64_t saved_state() {
  uint32_t low = 0;
  uint32_t high = 0;
  asm("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

/// Whether tiles are those that the loops are written for: eight of 16 rows of 64 bytes. Virtual machines may
/// hide the description; there are no others.
bool has_known_tiles() {
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
  uint32_t d = 0;
  if (__get_cpuid_count(0x1d, 1, &a, &b, &c, &d) == 0) return true;
  return a >> 16 == 1024 && (b & 0xffff) == 64 && b >> 16 >= 8 && (c & 0xffff) >= 16;
}

bool host_has_amx_bf16() {
  constexpr uint32_t kTilesAndBf16 = 1u << 24 | 1u << 22;
  constexpr uint32_t kSystemSaves = 1u << 27;
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
  uint32_t d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kSystemSaves) == 0) return false;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kTilesAndBf16) != kTilesAndBf16) return false;
  return (saved_state() & kTileState) == kTileState && has_known_tiles();
}

}  // namespace

Cpu cpu_named(const std::string& name) {
  Cpu cpu;
  cpu.name = name;
  if (name == "native" || name.empty()) {
    cpu.name = "native";
    cpu.avx512 = host_has_v4();
    cpu.avx512_bf16 = cpu.avx512 && __builtin_cpu_supports("avx512bf16") != 0;
    cpu.amx_bf16 = cpu.avx512_bf16 && host_has_amx_bf16() && is_enabled(Part::amx);
    cpu.fma = __builtin_cpu_supports("fma") != 0 && __builtin_cpu_supports("avx2") != 0;
    cpu.f16c = cpu.fma && host_has_v3();
    cpu.vector_bytes = cpu.avx512 ? 64 : __builtin_cpu_supports("avx2") != 0 ? 32 : 16;
    cpu = with_caches_found(cpu);
  } else if (name == "x86-64") {
    cpu.vector_bytes = 16;
  } else if (name == "x86-64-v3") {
    cpu.vector_bytes = 32;
    cpu.fma = cpu.f16c = true;
    cpu.runs_here = host_has_v3();
  } else if (name == "x86-64-v4") {
    cpu.vector_bytes = 64;
    cpu.fma = cpu.f16c = cpu.avx512 = true;
    cpu.runs_here = host_has_v4();
  } else {
    throw UserError("TOKAMAK_CPU: unknown processor '" + name +
                    "'; use native, x86-64, x86-64-v3 or x86-64-v4");
  }
  return cpu;
}

const Cpu& current_cpu() {
  static const Cpu cpu = [] {
    const char* asked = std::getenv("TOKAMAK_CPU");
    Cpu found = cpu_named(asked == nullptr ? "native" : asked);
    if (!found.runs_here) throw UserError("TOKAMAK_CPU: this machine cannot run code for " + found.name);
    return found;
  }();
  return cpu;
}

bool may_use_tiles() {
  static const bool may = [] {
    constexpr long kAskForPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
    constexpr long kTileData = 18;
    return syscall(SYS_arch_prctl, kAskForPermission, kTileData) == 0;
  }();
  return may;
}

}  // namespace tokamak
