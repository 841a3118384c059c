#include "block_hash.h"

#include <llvm/Support/xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "runtime/thread_pool.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tokamak::python {
namespace {

constexpr uint64_t kOdd = 0x9E3779B97F4A7C15;

__extension__ typedef unsigned __int128 Wide;

uint64_t mix(uint64_t a, uint64_t b) {
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t portable_hash(const char* data, size_t bytes) {
  return llvm::xxh3_64bits(llvm::ArrayRef(reinterpret_cast<const uint8_t*>(data), bytes));
}

#if defined(__x86_64__)

// The way of XXH3: eight sums of 64 bits, each of what is read there and of the product of its halves after
// they were mixed with a key. The keys differ from stripe to stripe, and after each block of stripes the sums
// are stirred, so that the order counts.

constexpr size_t kStripe = 64;
constexpr size_t kStripesPerBlock = 16;
constexpr size_t kBlock = kStripe * kStripesPerBlock;

constexpr std::array<uint64_t, 8 * (kStripesPerBlock + 1)> make_keys() {
  std::array<uint64_t, 8 * (kStripesPerBlock + 1)> keys{};
  uint64_t state = 0x243F6A8885A308D3;
  for (uint64_t& key : keys) {  // splitmix64
    state += kOdd;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    key = z ^ (z >> 31);
  }
  return keys;
}

alignas(64) constexpr auto kKeys = make_keys();

[[gnu::target("avx2")]] inline __m256i load(const void* at) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(at));
}

[[gnu::target("avx2")]] inline __m256i add_stripe(__m256i sum, const void* data, const void* key) {
  const __m256i value = load(data);
  const __m256i keyed = _mm256_xor_si256(value, load(key));
  const __m256i product = _mm256_mul_epu32(keyed, _mm256_srli_epi64(keyed, 32));
  const __m256i swapped = _mm256_shuffle_epi32(value, _MM_SHUFFLE(1, 0, 3, 2));
  return _mm256_add_epi64(product, _mm256_add_epi64(sum, swapped));
}

[[gnu::target("avx2")]] inline __m256i stir(__m256i sum, const void* key) {
  const __m256i prime = _mm256_set1_epi64x(0x9E3779B1);
  sum = _mm256_xor_si256(_mm256_xor_si256(sum, _mm256_srli_epi64(sum, 47)), load(key));
  const __m256i low = _mm256_mul_epu32(sum, prime);
  const __m256i high = _mm256_mul_epu32(_mm256_srli_epi64(sum, 32), prime);
  return _mm256_add_epi64(low, _mm256_slli_epi64(high, 32));
}

[[gnu::target("avx2")]] uint64_t avx2_hash(const char* data, size_t bytes) {
  __m256i sums[2] = {load(&kKeys[0]), load(&kKeys[4])};
  const auto add_stripes = [&](const char* at, size_t count) __attribute__((target("avx2"))) {
    for (size_t s = 0; s < count; ++s) {
      sums[0] = add_stripe(sums[0], at + s * kStripe, &kKeys[8 * s]);
      sums[1] = add_stripe(sums[1], at + s * kStripe + 32, &kKeys[8 * s + 4]);
    }
    sums[0] = stir(sums[0], &kKeys[8 * kStripesPerBlock]);
    sums[1] = stir(sums[1], &kKeys[8 * kStripesPerBlock + 4]);
  };
  const size_t blocks = bytes / kBlock;
  for (size_t b = 0; b < blocks; ++b) add_stripes(data + b * kBlock, kStripesPerBlock);
  const char* rest = data + blocks * kBlock;
  const size_t stripes = bytes % kBlock / kStripe;
  add_stripes(rest, stripes);
  std::array<uint64_t, 8> lanes;
  std::memcpy(lanes.data(), sums, sizeof(sums));
  uint64_t hash = portable_hash(rest + stripes * kStripe, bytes % kStripe) ^ bytes * kOdd;
  for (size_t i = 0; i < lanes.size(); i += 2)
    hash += mix(lanes[i] ^ kKeys[i + 3], lanes[i + 1] ^ kKeys[i + 20]);
  return mix(hash, kOdd) ^ hash;
}

bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2");
  return has;
}

#endif

/// From here on the way of vectors is worth its ending.
constexpr size_t kLong = 512;

uint64_t hash_piece(const char* data, size_t bytes) {
#if defined(__x86_64__)
  if (bytes >= kLong && has_avx2()) return avx2_hash(data, bytes);
#endif
  return portable_hash(data, bytes);
}

constexpr size_t kPiece = 256 << 10;
constexpr size_t kManyPieces = 4;

/// Pieces are the same for any number of threads, and so is the hash.
uint64_t hash_pieces(const char* data, size_t bytes) {
  const size_t count = (bytes + kPiece - 1) / kPiece;
  std::vector<uint64_t> hashes(count);
  ThreadPool::instance().run(static_cast<int64_t>(count), 1, [&](int64_t begin, int64_t end, int) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      hashes[i] = hash_piece(data + i * kPiece, std::min(kPiece, bytes - i * kPiece));
    }
  });
  return portable_hash(reinterpret_cast<const char*>(hashes.data()), count * sizeof(uint64_t));
}

}  // namespace

uint64_t hash_block(const char* data, size_t bytes, uint64_t seed) {
  const uint64_t hash = bytes >= kManyPieces * kPiece ? hash_pieces(data, bytes) : hash_piece(data, bytes);
  return (seed ^ hash) * kOdd + bytes;
}

}  // namespace tokamak::python
