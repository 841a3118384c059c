#pragma once

#include <cstdint>
#include <string>

namespace tokamak {

/// The processor that code is made for. Chosen once per process, from TOKAMAK_CPU:
/// "native" (default), or an x86-64 level: "x86-64" (SSE2), "x86-64-v3" (AVX2, FMA), "x86-64-v4" (AVX-512).
/// A level has the caches below whatever the machine has, so that the same code is made for it everywhere.
struct Cpu {
  std::string name;       ///< as in TOKAMAK_CPU
  int vector_bytes = 16;  ///< width of a register: 16, 32 or 64
  bool fma = false;
  bool f16c = false;
  bool avx512 = false;  ///< F, BW, DQ and VL together
  bool avx512_bf16 = false;
  bool amx_bf16 = false;  ///< tiles of bf16, which the system keeps for threads; see may_use_tiles()
  bool runs_here =
      true;  ///< false when this machine lacks what the level needs; code for it can only be looked at

  int64_t l1_bytes = 32 << 10;
  int64_t l2_bytes = 512 << 10;
  int64_t l3_bytes = 16 << 20;
};

/// Throws UserError for an unknown name.
Cpu cpu_named(const std::string& name);

/// What TOKAMAK_CPU asks for. Throws UserError when it is unknown or this machine cannot run it.
const Cpu& current_cpu();

/// Whether threads of this process may use the tile registers of AMX: Linux is asked for the permission, by
/// the first call. It refuses where a signal stack of some thread has no room for them.
bool may_use_tiles();

}  // namespace tokamak
