#include "support/transpose_tile.h"

#include <immintrin.h>

#include <cstring>

#include "support/cache_line.h"
#include "tokamak/errors.h"

namespace tokamak {
namespace {

template <class T>
void transpose_one_by_one(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t rows,
                          int64_t columns) {
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t i = 0; i < rows; ++i)
      std::memcpy(to + j * to_stride + i * static_cast<int64_t>(sizeof(T)),
                  from + i * from_stride + j * static_cast<int64_t>(sizeof(T)), sizeof(T));
  }
}

/// Squares of kSide x kSide elements by Square::transpose, what is left over one by one. While one band of
/// rows is transposed the next one is fetched: its rows lie far apart, and the processor does not guess them.
/// It is made part of its callers, which are for certain processors.
template <class Square>
[[gnu::always_inline]] inline void transpose_by_squares(char* to, int64_t to_stride, const char* from,
                                                        int64_t from_stride, int64_t rows, int64_t columns) {
  using T = typename Square::Element;
  constexpr int64_t kSide = Square::kSide;
  constexpr int64_t kBytes = sizeof(T);
  const int64_t whole_rows = rows / kSide * kSide;
  const int64_t whole_columns = columns / kSide * kSide;
  for (int64_t i = 0; i < whole_rows; i += kSide) {
    if (i + 2 * kSide <= whole_rows) {
      for (int64_t row = i + kSide; row < i + 2 * kSide; ++row) {
        for (int64_t byte = 0; byte < columns * kBytes; byte += kCacheLine)
          __builtin_prefetch(from + row * from_stride + byte);
      }
    }
    for (int64_t j = 0; j < whole_columns; j += kSide)
      Square::transpose(to + j * to_stride + i * kBytes, to_stride, from + i * from_stride + j * kBytes,
                        from_stride);
  }
  if (whole_columns < columns)
    transpose_one_by_one<T>(to + whole_columns * to_stride, to_stride, from + whole_columns * kBytes,
                            from_stride, whole_rows, columns - whole_columns);
  if (whole_rows < rows)
    transpose_one_by_one<T>(to + whole_rows * kBytes, to_stride, from + whole_rows * from_stride, from_stride,
                            rows - whole_rows, columns);
}

struct Bytes8x8 {
  using Element = uint8_t;
  static constexpr int64_t kSide = 8;
  static void transpose(char* to, int64_t to_stride, const char* from, int64_t from_stride) {
    __m128i r[8];
    for (int64_t i = 0; i < 8; ++i)
      r[i] = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + i * from_stride));
    __m128i pairs[4];  // rows 2i and 2i + 1, byte by byte
    for (size_t i = 0; i < 4; ++i) pairs[i] = _mm_unpacklo_epi8(r[2 * i], r[2 * i + 1]);
    const __m128i low_a = _mm_unpacklo_epi16(pairs[0], pairs[1]);
    const __m128i low_b = _mm_unpacklo_epi16(pairs[2], pairs[3]);
    const __m128i high_a = _mm_unpackhi_epi16(pairs[0], pairs[1]);
    const __m128i high_b = _mm_unpackhi_epi16(pairs[2], pairs[3]);
    const __m128i columns[] = {_mm_unpacklo_epi32(low_a, low_b), _mm_unpackhi_epi32(low_a, low_b),
                               _mm_unpacklo_epi32(high_a, high_b), _mm_unpackhi_epi32(high_a, high_b)};
    for (int64_t i = 0; i < 4; ++i) {
      _mm_storel_epi64(reinterpret_cast<__m128i*>(to + 2 * i * to_stride), columns[i]);
      _mm_storel_epi64(reinterpret_cast<__m128i*>(to + (2 * i + 1) * to_stride),
                       _mm_unpackhi_epi64(columns[i], columns[i]));
    }
  }
};

struct Words8x8 {
  using Element = uint16_t;
  static constexpr int64_t kSide = 8;
  static void transpose(char* to, int64_t to_stride, const char* from, int64_t from_stride) {
    __m128i r[8];
    for (int64_t i = 0; i < 8; ++i)
      r[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i * from_stride));
    __m128i s[8];
    for (size_t i = 0; i < 4; ++i) {
      s[2 * i] = _mm_unpacklo_epi16(r[2 * i], r[2 * i + 1]);
      s[2 * i + 1] = _mm_unpackhi_epi16(r[2 * i], r[2 * i + 1]);
    }
    for (size_t half = 0; half < 2; ++half) {  // columns 0 to 3, then 4 to 7
      const __m128i a = _mm_unpacklo_epi32(s[half], s[half + 2]);
      const __m128i b = _mm_unpackhi_epi32(s[half], s[half + 2]);
      const __m128i c = _mm_unpacklo_epi32(s[half + 4], s[half + 6]);
      const __m128i d = _mm_unpackhi_epi32(s[half + 4], s[half + 6]);
      const __m128i columns[] = {_mm_unpacklo_epi64(a, c), _mm_unpackhi_epi64(a, c), _mm_unpacklo_epi64(b, d),
                                 _mm_unpackhi_epi64(b, d)};
      for (size_t i = 0; i < 4; ++i)
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + static_cast<int64_t>(4 * half + i) * to_stride),
                         columns[i]);
    }
  }
};

struct Floats4x4 {
  using Element = float;
  static constexpr int64_t kSide = 4;
  static void transpose(char* to, int64_t to_stride, const char* from, int64_t from_stride) {
    auto load = [&](int64_t i) {
      return _mm_loadu_ps(reinterpret_cast<const float*>(from + i * from_stride));
    };
    auto store = [&](int64_t i, __m128 v) { _mm_storeu_ps(reinterpret_cast<float*>(to + i * to_stride), v); };
    __m128 a = load(0);
    __m128 b = load(1);
    __m128 c = load(2);
    __m128 d = load(3);
    _MM_TRANSPOSE4_PS(a, b, c, d);
    store(0, a);
    store(1, b);
    store(2, c);
    store(3, d);
  }
};

struct Doubles2x2 {
  using Element = double;
  static constexpr int64_t kSide = 2;
  static void transpose(char* to, int64_t to_stride, const char* from, int64_t from_stride) {
    const __m128d a = _mm_loadu_pd(reinterpret_cast<const double*>(from));
    const __m128d b = _mm_loadu_pd(reinterpret_cast<const double*>(from + from_stride));
    _mm_storeu_pd(reinterpret_cast<double*>(to), _mm_unpacklo_pd(a, b));
    _mm_storeu_pd(reinterpret_cast<double*>(to + to_stride), _mm_unpackhi_pd(a, b));
  }
};

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif

struct Floats8x8 {
  using Element = float;
  static constexpr int64_t kSide = 8;
  static void transpose(char* to, int64_t to_stride, const char* from, int64_t from_stride) {
    // Registers hold four elements of row i and four of row i + 4: what then moves, moves within halves.
    __m256 r[8];
    for (int64_t i = 0; i < 4; ++i) {
      const auto* upper = reinterpret_cast<const float*>(from + i * from_stride);
      const auto* lower = reinterpret_cast<const float*>(from + (i + 4) * from_stride);
      r[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(upper)), _mm_loadu_ps(lower), 1);
      r[i + 4] =
          _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(upper + 4)), _mm_loadu_ps(lower + 4), 1);
    }
    for (int64_t half = 0; half < 8; half += 4) {
      const __m256 a = _mm256_unpacklo_ps(r[half], r[half + 1]);
      const __m256 b = _mm256_unpackhi_ps(r[half], r[half + 1]);
      const __m256 c = _mm256_unpacklo_ps(r[half + 2], r[half + 3]);
      const __m256 d = _mm256_unpackhi_ps(r[half + 2], r[half + 3]);
      auto store = [&](int64_t i, __m256 v) {
        _mm256_storeu_ps(reinterpret_cast<float*>(to + (half + i) * to_stride), v);
      };
      store(0, _mm256_shuffle_ps(a, c, 0x44));
      store(1, _mm256_shuffle_ps(a, c, 0xee));
      store(2, _mm256_shuffle_ps(b, d, 0x44));
      store(3, _mm256_shuffle_ps(b, d, 0xee));
    }
  }
};

struct Doubles4x4 {
  using Element = double;
  static constexpr int64_t kSide = 4;
  static void transpose(char* to, int64_t to_stride, const char* from, int64_t from_stride) {
    for (int64_t half = 0; half < 4; half += 2) {  // columns
      auto pair = [&](int64_t row) {               // of elements of row and row + 2
        const auto* upper = reinterpret_cast<const double*>(from + row * from_stride) + half;
        const auto* lower = reinterpret_cast<const double*>(from + (row + 2) * from_stride) + half;
        return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(upper)), _mm_loadu_pd(lower), 1);
      };
      const __m256d a = pair(0);
      const __m256d b = pair(1);
      _mm256_storeu_pd(reinterpret_cast<double*>(to + half * to_stride), _mm256_unpacklo_pd(a, b));
      _mm256_storeu_pd(reinterpret_cast<double*>(to + (half + 1) * to_stride), _mm256_unpackhi_pd(a, b));
    }
  }
};

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

template <class Square>
void transpose(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t rows,
               int64_t columns) {
  transpose_by_squares<Square>(to, to_stride, from, from_stride, rows, columns);
}

template <class Square>
[[gnu::target("avx2")]] void transpose_avx2(char* to, int64_t to_stride, const char* from,
                                            int64_t from_stride, int64_t rows, int64_t columns) {
  transpose_by_squares<Square>(to, to_stride, from, from_stride, rows, columns);
}

}  // namespace

TransposeFunction transpose_tile(int64_t element_bytes, const Cpu& cpu) {
  const bool avx2 = cpu.vector_bytes >= 32;
  switch (element_bytes) {
    case 1:
      return transpose<Bytes8x8>;
    case 2:
      return transpose<Words8x8>;
    case 4:
      return avx2 ? transpose_avx2<Floats8x8> : transpose<Floats4x4>;
    case 8:
      return avx2 ? transpose_avx2<Doubles4x4> : transpose<Doubles2x2>;
    default:
      throw InternalError("no elements of this size");
  }
}

}  // namespace tokamak
