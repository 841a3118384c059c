#include "library/sort.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <type_traits>

#include "library/sort_kernels.h"
#include "tokamak/errors.h"

namespace tokamak {
namespace {

const SortKernels& kernels_for(const Cpu& cpu) {
  if (cpu.avx512) return kSortX86_64V4;
  return cpu.fma && cpu.vector_bytes >= 32 ? kSortX86_64V3 : kSortPlain;
}

template <class Key>
const KeyKernels<Key>& kernels_of(const SortKernels& kernels) {
  if constexpr (sizeof(Key) == 4) {
    return kernels.narrow;
  } else {
    return kernels.wide;
  }
}

// Elements and their keys. `order` is the key for positions: the same for elements that compare equal.

template <class T>
struct IntegerElement {
  using Raw = T;
  using Key = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  using Unsigned = std::make_unsigned_t<Key>;

  /// Only unsigned types as wide as the key have values that it lacks.
  static constexpr Unsigned kFlip =
      std::is_unsigned_v<T> && sizeof(T) == sizeof(Key) ? Unsigned{1} << (8 * sizeof(Key) - 1) : 0;
  static Key key(T value) { return static_cast<Key>(static_cast<Unsigned>(static_cast<Key>(value)) ^ kFlip); }
  static Key order(T value) { return key(value); }
  static T value(Key key) { return static_cast<T>(static_cast<Unsigned>(key) ^ kFlip); }
};

/// A float by its bits: those of infinity, and of the NaN that stands for all of them. Conditions are masks,
/// made without comparing: any processor then has vector instructions for all of it.
template <class Bits, Bits kInfinity, Bits kNan>
struct FloatElement {
  using Raw = Bits;
  using Key = std::conditional_t<sizeof(Bits) == 8, int64_t, int32_t>;
  static constexpr int kSignBit = 8 * sizeof(Bits) - 1;
  static constexpr Bits kMagnitude = static_cast<Bits>(~Bits{0}) >> 1;

  /// All bits where the number is negative, none where it is not.
  static Bits if_negative(Bits number) { return static_cast<Bits>(Bits{0} - (number >> kSignBit)); }
  static Bits chosen(Bits mask, Bits yes, Bits no) { return static_cast<Bits>((yes & mask) | (no & ~mask)); }

  /// The magnitude of negative numbers upside down; and back.
  static Bits turned(Bits bits) { return static_cast<Bits>(bits ^ (if_negative(bits) & kMagnitude)); }
  static Key key(Bits bits) {
    const Bits is_nan = if_negative(static_cast<Bits>(kInfinity - (bits & kMagnitude)));
    return static_cast<std::make_signed_t<Bits>>(turned(chosen(is_nan, kNan, bits)));
  }
  static Key order(Bits bits) {
    const Bits is_zero = if_negative(static_cast<Bits>((bits & kMagnitude) - 1));
    return key(static_cast<Bits>(bits & ~is_zero));
  }
  static Bits value(Key key) { return turned(static_cast<Bits>(key)); }
};
using F16Element = FloatElement<uint16_t, 0x7c00, 0x7e00>;
using Bf16Element = FloatElement<uint16_t, 0x7f80, 0x7fc0>;
using F32Element = FloatElement<uint32_t, 0x7f800000, 0x7fc00000>;
using F64Element = FloatElement<uint64_t, 0x7ff0000000000000, 0x7ff8000000000000>;

int bits_of(uint64_t number) { return static_cast<int>(std::bit_width(number)); }

template <class T>
T read(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <class E>
typename E::Raw element(const SortLine& line, int64_t i) {
  return read<typename E::Raw>(static_cast<const std::byte*>(line.data) + i * line.stride);
}

/// Calls use(i, element i); with neighbours in memory, in a loop that the compiler makes vectors of.
template <class E, class Use>
void for_each_element(const SortLine& line, int64_t first, int64_t last, Use use) {
  if (line.stride == static_cast<int64_t>(sizeof(typename E::Raw))) {
    const SortLine dense{line.data, sizeof(typename E::Raw)};
    for (int64_t i = first; i < last; ++i) use(i, element<E>(dense, i));
  } else {
    for (int64_t i = first; i < last; ++i) use(i, element<E>(line, i));
  }
}

/// Calls use(i, result i) likewise.
template <class T, class Use>
void write_each(void* result, int64_t stride, int64_t first, int64_t last, Use value) {
  auto* to = static_cast<std::byte*>(result);
  if (stride == static_cast<int64_t>(sizeof(T))) {
    for (int64_t i = first; i < last; ++i) {
      const T one = value(i);
      std::memcpy(to + i * static_cast<int64_t>(sizeof(T)), &one, sizeof(T));
    }
  } else {
    for (int64_t i = first; i < last; ++i) {
      const T one = value(i);
      std::memcpy(to + i * stride, &one, sizeof(T));
    }
  }
}

/// What methods have in common: all lines of a block, on top of the parts of one.
class LineMethod : public SortMethod {
 public:
  LineMethod(int64_t length, const SortWindow& window, const SortKernels& kernels)
      : SortMethod(length, window), kernels_(kernels) {}

  void sort(const SortLines& lines, void* keys) const final {
    const bool in_result = sorts_in_result(lines.result_stride);
    auto* all = static_cast<std::byte*>(keys);
    const int64_t line_bytes = length_ * key_bytes();
    auto line = [&](int64_t j) {
      return SortLine{static_cast<const std::byte*>(lines.first.data) + j * lines.line_stride,
                      lines.first.stride};
    };
    auto result = [&](int64_t j) {
      return static_cast<std::byte*>(lines.result) + j * lines.result_line_stride;
    };
    auto keys_of = [&](int64_t j) { return in_result ? result(j) : all + j * line_bytes; };
    // Lines that lie across the memory are read and written some elements at a time, all lines in turn.
    const bool across = lines.count > 1 && (std::abs(lines.first.stride) > std::abs(lines.line_stride) ||
                                            lines.result_stride > lines.result_line_stride);
    const int64_t at_once = across ? kElementsAtOnce : length_;
    const SortWindow all_of_it{0, length_};
    KeyRange ranges[kMaxSortLines];
    std::fill_n(ranges, lines.count, kNoRange);
    for_each_piece(all_of_it, lines.count, at_once, [&](int64_t j, int64_t first, int64_t last) {
      ranges[j] = joined(ranges[j], range(line(j), first, last));
    });
    for_each_piece(all_of_it, lines.count, at_once, [&](int64_t j, int64_t first, int64_t last) {
      load(line(j), ranges[j], first, last, keys_of(j));
    });
    for (int64_t j = 0; j < lines.count; ++j) sort_part(line(j), ranges[j], keys_of(j), 0, length_);
    for_each_piece(window_, lines.count, at_once, [&](int64_t j, int64_t first, int64_t last) {
      store(keys_of(j), first, last, result(j), lines.result_stride);
    });
  }

  const char* name() const final { return kernels_.name; }

 protected:
  /// What is asked for of the keys [first, last).
  SortWindow asked(int64_t first, int64_t last) const {
    return {std::max(first, window_.first), std::min(last, window_.last)};
  }

  const SortKernels& kernels_;

 private:
  static constexpr int64_t kElementsAtOnce = 16;

  template <class Do>
  static void for_each_piece(const SortWindow& all, int64_t lines, int64_t at_once, Do work) {
    for (int64_t first = all.first; first < all.last; first += at_once) {
      const int64_t last = std::min(first + at_once, all.last);
      for (int64_t j = 0; j < lines; ++j) work(j, first, last);
    }
  }
};

template <class E>
class ValueMethod final : public LineMethod {
 public:
  using Key = typename E::Key;
  using LineMethod::LineMethod;

  int64_t key_bytes() const override { return sizeof(Key); }
  int64_t result_bytes() const override { return sizeof(typename E::Raw); }

  KeyRange range(const SortLine& /*line*/, int64_t /*first*/, int64_t /*last*/) const override {
    return kNoRange;
  }

  void load(const SortLine& line, const KeyRange& /*range*/, int64_t first, int64_t last,
            void* keys) const override {
    auto* to = static_cast<Key*>(keys);
    for_each_element<E>(line, first, last, [&](int64_t i, typename E::Raw value) { to[i] = E::key(value); });
  }

  int64_t divide(void* keys, int64_t first, int64_t last) const override {
    constexpr Key kAllBits = -1;
    return first + kernels_of<Key>(kernels_).divide(static_cast<Key*>(keys) + first, last - first, kAllBits);
  }

  void sort_part(const SortLine& /*line*/, const KeyRange& /*range*/, void* keys, int64_t first,
                 int64_t last) const override {
    const SortWindow window = asked(first, last);
    if (window.first >= window.last) return;
    kernels_of<Key>(kernels_).sort(static_cast<Key*>(keys) + first, last - first, window.first - first,
                                   window.last - first);
  }

  void store(const void* keys, int64_t first, int64_t last, void* result, int64_t stride) const override {
    const auto* from = static_cast<const Key*>(keys);
    write_each<typename E::Raw>(result, stride, first - window_.first, last - window_.first,
                                [&](int64_t i) { return E::value(from[i + window_.first]); });
  }
};

template <class E>
class PositionMethod final : public LineMethod {
 public:
  PositionMethod(int64_t length, const SortWindow& window, const SortKernels& kernels)
      : LineMethod(length, window, kernels),
        position_bits_(bits_of(static_cast<uint64_t>(std::max<int64_t>(length - 1, 1)))),
        position_mask_((uint64_t{1} << position_bits_) - 1) {}

  int64_t key_bytes() const override { return sizeof(int64_t); }
  int64_t result_bytes() const override { return sizeof(int64_t); }

  KeyRange range(const SortLine& line, int64_t first, int64_t last) const override {
    KeyRange found = kNoRange;
    if constexpr (sizeof(typename E::Key) == 4) {  // fits beside the position without looking
      found = {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
    } else {
      for_each_element<E>(line, first, last, [&](int64_t, typename E::Raw value) { widen(found, value); });
    }
    return found;
  }

  void load(const SortLine& line, const KeyRange& range, int64_t first, int64_t last,
            void* keys) const override {
    auto* to = static_cast<int64_t*>(keys);
    const Coding coding = coding_for(range);
    for_each_element<E>(line, first, last,
                        [&](int64_t i, typename E::Raw value) { to[i] = packed(coding, value, i); });
  }

  int64_t divide(void* keys, int64_t first, int64_t last) const override {
    return first + kernels_.wide.divide(static_cast<int64_t*>(keys) + first, last - first,
                                        static_cast<int64_t>(~position_mask_));
  }

  void sort_part(const SortLine& line, const KeyRange& range, void* keys, int64_t first,
                 int64_t last) const override {
    SortWindow window = asked(first, last);
    if (window.first >= window.last) return;
    auto* part = static_cast<int64_t*>(keys) + first;
    window = {window.first - first, window.last - first};
    kernels_.wide.sort(part, last - first, window.first, window.last);
    if (coding_for(range).shift == 0) return;
    const SortWindow runs = with_whole_runs(part, last - first, window);
    tell_apart(line, part + runs.first, runs.last - runs.first);
  }

  void store(const void* keys, int64_t first, int64_t last, void* result, int64_t stride) const override {
    const auto* from = static_cast<const int64_t*>(keys);
    write_each<int64_t>(result, stride, first - window_.first, last - window_.first, [&](int64_t i) {
      return static_cast<int64_t>(position_of(from[i + window_.first]));
    });
  }

 private:
  static constexpr uint64_t kSign = uint64_t{1} << 63;

  /// A key is (order - least) >> shift, then the position; the highest bit turned, as keys are signed.
  struct Coding {
    uint64_t least;
    int shift;
  };

  static void widen(KeyRange& range, typename E::Raw value) {
    const int64_t order = E::order(value);
    range.least = std::min(range.least, order);
    range.greatest = std::max(range.greatest, order);
  }

  Coding coding_for(const KeyRange& range) const {
    const auto least = static_cast<uint64_t>(range.least);
    const int bits = bits_of(static_cast<uint64_t>(range.greatest) - least);
    return {least, std::max(0, bits - (64 - position_bits_))};
  }

  int64_t packed(const Coding& coding, typename E::Raw value, int64_t position) const {
    const uint64_t order = static_cast<uint64_t>(int64_t{E::order(value)}) - coding.least;
    const uint64_t key = order >> coding.shift << position_bits_ | static_cast<uint64_t>(position);
    return static_cast<int64_t>(key ^ kSign);
  }

  uint64_t position_of(int64_t key) const { return static_cast<uint64_t>(key) & position_mask_; }

  /// Keys that agree with the first or the last of the window but for their positions may lie outside: moves
  /// them next to it, and gives the window with them. All keys on one side of the window are smaller or
  /// greater.
  SortWindow with_whole_runs(int64_t* keys, int64_t count, SortWindow window) const {
    const int64_t least = keys[window.first] >> position_bits_;
    const int64_t greatest = keys[window.last - 1] >> position_bits_;
    auto agrees = [&](int64_t order) {
      return [order, this](int64_t key) { return key >> position_bits_ == order; };
    };
    auto* below = std::partition(keys, keys + window.first, std::not_fn(agrees(least)));
    auto* above = std::partition(keys + window.last, keys + count, agrees(greatest));
    std::sort(below, keys + window.first);
    std::sort(keys + window.last, above);
    return {below - keys, above - keys};
  }

  /// Sorts runs of keys that are equal but for their positions by what did not fit into them.
  void tell_apart(const SortLine& line, int64_t* keys, int64_t count) const {
    for (int64_t first = 0; first < count;) {
      int64_t last = first + 1;
      while (last < count && keys[last] >> position_bits_ == keys[first] >> position_bits_) ++last;
      if (last - first > 1) sort_run(line, keys + first, last - first);
      first = last;
    }
  }

  void sort_run(const SortLine& line, int64_t* keys, int64_t count) const {
    auto value = [&](int64_t i) { return element<E>(line, static_cast<int64_t>(position_of(keys[i]))); };
    KeyRange range = kNoRange;
    for (int64_t i = 0; i < count; ++i) widen(range, value(i));
    if (range.least == range.greatest) return;  // all equal, and in the order of their positions
    const Coding coding = coding_for(range);
    for (int64_t i = 0; i < count; ++i)
      keys[i] = packed(coding, value(i), static_cast<int64_t>(position_of(keys[i])));
    kernels_.wide.sort(keys, count, 0, count);
    if (coding.shift != 0) tell_apart(line, keys, count);
  }

  int position_bits_;
  uint64_t position_mask_;
};

template <class E>
std::unique_ptr<const SortMethod> method_for(SortResult result, int64_t length, const SortWindow& window,
                                             const SortKernels& kernels) {
  if (result == SortResult::values) return std::make_unique<ValueMethod<E>>(length, window, kernels);
  return std::make_unique<PositionMethod<E>>(length, window, kernels);
}

}  // namespace

std::unique_ptr<const SortMethod> choose_sort_method(DType dtype, SortResult result, int64_t length,
                                                     const SortWindow& window, const Cpu& cpu) {
  const SortKernels& kernels = kernels_for(cpu);
  switch (dtype) {
    case DType::boolean:
    case DType::u8:
      return method_for<IntegerElement<uint8_t>>(result, length, window, kernels);
    case DType::i8:
      return method_for<IntegerElement<int8_t>>(result, length, window, kernels);
    case DType::i16:
      return method_for<IntegerElement<int16_t>>(result, length, window, kernels);
    case DType::i32:
      return method_for<IntegerElement<int32_t>>(result, length, window, kernels);
    case DType::i64:
      return method_for<IntegerElement<int64_t>>(result, length, window, kernels);
    case DType::u16:
      return method_for<IntegerElement<uint16_t>>(result, length, window, kernels);
    case DType::u32:
      return method_for<IntegerElement<uint32_t>>(result, length, window, kernels);
    case DType::u64:
      return method_for<IntegerElement<uint64_t>>(result, length, window, kernels);
    case DType::f16:
      return method_for<F16Element>(result, length, window, kernels);
    case DType::bf16:
      return method_for<Bf16Element>(result, length, window, kernels);
    case DType::f32:
      return method_for<F32Element>(result, length, window, kernels);
    case DType::f64:
      return method_for<F64Element>(result, length, window, kernels);
  }
  throw InternalError("unknown dtype");
}

}  // namespace tokamak
