#include "runtime/running_operand.h"

#include <algorithm>

#include "runtime/program.h"
#include "runtime/thread_pool.h"
#include "support/rounding.h"

namespace tokamak {
namespace {

constexpr int64_t kAlign = 64;

int64_t address_step(const std::vector<int64_t>& coefficients, const int64_t* strides) {
  int64_t step = 0;
  for (size_t axis = 0; axis < coefficients.size(); ++axis) step += coefficients[axis] * strides[axis];
  return step;
}

}  // namespace

RunningOperand::RunningOperand(const BlockOperand& of, const void* array, const int64_t* strides)
    : about(&of) {
  const OperandRead& read = of.read;
  operand.dtype = of.dtype;
  operand.data = static_cast<const std::byte*>(array) + address_step(read.offsets, strides);
  auto axes = [&](const std::vector<OperandRead::Axis>& from) {
    std::vector<ProductAxis> to;
    for (const OperandRead::Axis& axis : from)
      to.push_back({axis.extent, address_step(axis.coefficients, strides)});
    return to;
  };
  batch = axes(read.batch);
  operand.lines = axes(read.lines);
  operand.contracted = axes(read.contracted);
  for (const OperandRead::Bound& bound : read.bounds)
    operand.bounds.push_back({bound.offset, bound.coefficients, bound.extent});
}

void RunningOperand::take_part(int64_t first, int64_t count) {
  ProductAxis& axis = operand.contracted[0];
  std::vector<int64_t> coefficients(operand.lines.size(), 0);
  coefficients.push_back(1);
  operand.bounds.push_back({first, std::move(coefficients), axis.extent});
  operand.data = static_cast<const std::byte*>(operand.data) + first * axis.stride;
  axis.extent = count;
}

void pack(const ProductMethod& method, bool is_lhs, const ProductOperand& operand, int64_t first,
          int64_t last, void* packed) {
  is_lhs ? method.pack_a(operand, first, last, packed) : method.pack_b(operand, first, last, packed);
}

std::byte* aligned(void* memory) {
  return reinterpret_cast<std::byte*>(  // NOLINT: an address is rounded
      round_up(reinterpret_cast<int64_t>(memory), kAlign));
}

void PackingAhead::add(const ProductMethod& method, bool is_lhs, const RunningOperand& running,
                       std::atomic<double>* largest) {
  const Panels panels(method, is_lhs);
  const int64_t first = all_.empty() ? 0 : all_.back().first + all_.back().count;
  all_.push_back({method, is_lhs, running, panels, first,
                  running.about->copies * panels.count(running.about->lines), largest});
}

void PackingAhead::run() const {
  if (all_.empty()) return;
  constexpr double kBytesPerNanosecond = 4;
  int64_t most_bytes = 1;
  for (const One& one : all_) most_bytes = std::max(most_bytes, one.panels.bytes);
  const int64_t grain = grain_for(static_cast<double>(most_bytes) / kBytesPerNanosecond);
  ThreadPool::instance().run(all_.back().first + all_.back().count, grain,
                             [&](int64_t begin, int64_t end, int) {
                               for (const One& one : all_) {
                                 const int64_t from = std::max(begin, one.first) - one.first;
                                 const int64_t to = std::min(end, one.first + one.count) - one.first;
                                 if (from < to) pack_panels(one, from, to);
                               }
                             });
}

void PackingAhead::note_largest(const One& one, const std::byte* packed, int64_t panels) {
  const double found =
      one.is_lhs ? one.method.largest_of_a(packed, panels) : one.method.largest_of_b(packed, panels);
  double known = one.largest->load();
  while (found > known && !one.largest->compare_exchange_weak(known, found)) {
  }
}

void PackingAhead::pack_panels(const One& one, int64_t begin, int64_t end) {
  const BlockOperand& about = *one.running.about;
  const int64_t count = one.panels.count(about.lines);  // of a copy
  ProductOperand operand = one.running.operand;
  while (begin < end) {
    const int64_t copy = begin / count;
    const int64_t first = begin % count;
    const int64_t last = std::min(count, first + (end - begin));
    operand.data = static_cast<const std::byte*>(one.running.operand.data) +
                   (about.copies == 1 ? 0 : offset_of(copy, one.running.batch));
    std::byte* packed = one.running.packed + begin * one.panels.bytes;
    pack(one.method, one.is_lhs, operand, first, last, packed);
    if (one.largest != nullptr) note_largest(one, packed, last - first);
    begin += last - first;
  }
}

}  // namespace tokamak
