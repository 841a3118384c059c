// What this machine can do: bandwidth of memory, and fused multiply-adds in registers. Compiled for the
// processor it runs on, and called by roofline.py, every function on each thread with its own part of the
// arrays.

#include <immintrin.h>

#include <cstdint>

#if defined(__AMX_BF16__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#if defined(__AVX512F__)
using Floats = __m512;
static Floats load(const float* p) { return _mm512_load_ps(p); }
static void stream(float* p, Floats v) { _mm512_stream_ps(p, v); }
static Floats fma(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
#else
using Floats = __m256;
static Floats load(const float* p) { return _mm256_load_ps(p); }
static void stream(float* p, Floats v) { _mm256_stream_ps(p, v); }
static Floats fma(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
#endif

constexpr int64_t kLanes = sizeof(Floats) / sizeof(float);

/// Keeps the compiler from leaving out what leads to the value, and from knowing it: equal sums would become
/// one.
static void keep(Floats& value) { asm volatile("" : "+v"(value)); }

constexpr int kChains = 12;

/// Adds to independent sums, each of which waits for itself alone.
template <class Add>
static void chains(int64_t rounds, Add add) {
  Floats sums[kChains] = {};
  Floats x{}, y{};
  for (Floats& sum : sums) keep(sum);
  keep(x), keep(y);
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (int j = 0; j < kChains; ++j) sums[j] = add(x, y, sums[j]);
  }
  for (Floats& sum : sums) keep(sum);
}

#if defined(__AMX_BF16__)

/// Whether Linux lets this process use tiles.
static bool may_use_tiles() {
  static const bool may = syscall(SYS_arch_prctl, 0x1023, 18) == 0;
  return may;
}

/// Products of tiles of 16 rows by 32 and 32 by 16 columns, added to four others in turn.
static int64_t multiply_add_tiles(int64_t rounds) {
  static constexpr struct alignas(64) Shapes {
    uint8_t palette = 1, start = 0, reserved[14] = {};
    uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } shapes;
  _tile_loadconfig(&shapes);
  for (int64_t i = 0; i < rounds; ++i) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_release();
  return rounds * 4 * (2 * 16 * 16 * 32);
}

#endif

template <int Places>
static void read(const float* a, int64_t count) {
  constexpr int kAtOnce = 4 / Places;  // registers at each place, of two sums for each of four
  Floats sums[8] = {};
  const int64_t part = count / Places;
  for (int64_t i = 0; i < part; i += 2 * kAtOnce * kLanes) {
#pragma GCC unroll 4
    for (int j = 0; j < Places; ++j) {
#pragma GCC unroll 8
      for (int n = 0; n < 2 * kAtOnce; ++n) sums[2 * kAtOnce * j + n] += load(a + j * part + i + n * kLanes);
    }
  }
  for (Floats& sum : sums) keep(sum);
}

extern "C" {

/// Reads `count` floats, a multiple of 128, at a 64-byte boundary: at four places at once, since some
/// processors fetch ahead of each, but not beyond a page; and from end to end, which is faster on others.
void read_at_four_places(const float* a, int64_t count) { read<4>(a, count); }
void read_in_order(const float* a, int64_t count) { read<1>(a, count); }

/// Writes them with non-temporal stores.
void write_only(float* out, int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes) stream(out + i, Floats{});
  _mm_sfence();
}

void copy(const float* a, float* out, int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes) stream(out + i, load(a + i));
  _mm_sfence();
}

void add(const float* a, const float* b, float* out, int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes) stream(out + i, load(a + i) + load(b + i));
  _mm_sfence();
}

/// Twelve independent chains of fused multiply-adds; returns the floating-point operations done in f32.
int64_t multiply_add(int64_t rounds) {
  chains(rounds, [](Floats x, Floats y, Floats sum) { return fma(x, y, sum); });
  return rounds * kChains * kLanes * 2;
}

/// The same in instructions that add products of bf16 to f32: of tiles, or of pairs; 0 where there are none.
int64_t multiply_add_bf16(int64_t rounds) {
#if defined(__AMX_BF16__)
  if (may_use_tiles()) return multiply_add_tiles(rounds);
#endif
#if defined(__AVX512BF16__)
  chains(rounds, [](Floats x, Floats y, Floats sum) {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(x), reinterpret_cast<__m512bh>(y));
  });
  return rounds * kChains * kLanes * 4;
#else
  (void)rounds;
  return 0;
#endif
}
}
