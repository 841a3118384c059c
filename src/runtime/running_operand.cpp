#include "runtime/running_operand.h"

#include <algorithm>

#include "runtime/buffer_pool.h"
#include "runtime/program.h"
#include "runtime/thread_pool.h"
#include "support/rounding.h"
#include "tokamak/errors.h"

namespace tokamak {
namespace {

constexpr int64_t kAlign = 64;

int64_t address_step(const std::vector<int64_t>& coefficients, const int64_t* strides) {
  int64_t step = 0;
  for (size_t axis = 0; axis < coefficients.size(); ++axis) step += coefficients[axis] * strides[axis];
  return step;
}

/// So many steps of k that a maker has made, each with all lines.
ProductOperand steps_made(const RunningOperand& running, int64_t steps, const std::byte* made) {
  const BlockOperand& about = *running.about;
  return {.dtype = about.dtype,
          .data = made,
          .lines = {{about.lines, static_cast<int64_t>(size_of(about.dtype))}},
          .contracted = {{steps, about.maker->row_bytes}},
          .bounds = {}};
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

RunningOperand::RunningOperand(const BlockOperand& of, const BlockMemory& memory, int32_t* failed_check) {
  about = &of;
  if (of.place.kind != Place::Kind::block) {
    const int64_t* strides = of.strided_input < 0 ? of.strides.data() : memory.strides_of(of.strided_input);
    *this = RunningOperand(of, memory.find(of.place), strides);
  }
  if (of.maker != nullptr) maker.emplace(*of.maker, memory, failed_check);
  if (of.packed) packed = aligned(memory.find(*of.packed));
}

void RunningOperand::make_part(int64_t first, int64_t count, std::byte* scratch) {
  const int64_t end = std::min(first + count, maker->about().rows);
  maker->make(first, end, scratch);
  operand = steps_made(*this, end - first, scratch);
  take_part(0, count);
}

void RunningOperand::take_part(int64_t first, int64_t count) {
  ProductAxis& axis = operand.contracted[0];
  if (first + count > axis.extent) {
    std::vector<int64_t> coefficients(operand.lines.size(), 0);
    coefficients.push_back(1);
    operand.bounds.push_back({first, std::move(coefficients), axis.extent});
  }
  operand.data = static_cast<const std::byte*>(operand.data) + first * axis.stride;
  axis.extent = count;
}

ProductOperand lines_from(const ProductOperand& operand, int64_t first) {
  ProductOperand rest = operand;
  const auto along =
      std::ranges::find_if(rest.lines, [](const ProductAxis& axis) { return axis.extent != 1; });
  const auto axis = static_cast<size_t>(along - rest.lines.begin());
  auto bounds_lines = [axis](const ProductBound& bound) { return bound.coefficients[axis] != 0; };
  if (along == rest.lines.end() || std::ranges::any_of(rest.bounds, bounds_lines))
    throw InternalError("a part of a product begins where its operand does not");
  rest.data = static_cast<const std::byte*>(rest.data) + first * along->stride;
  along->extent -= first;
  return rest;
}

void pack(const ProductMethod& method, bool is_lhs, const ProductOperand& operand, int64_t first,
          int64_t last, void* packed) {
  is_lhs ? method.pack_a(operand, first, last, packed) : method.pack_b(operand, first, last, packed);
}

std::byte* aligned(void* memory) {
  return reinterpret_cast<std::byte*>(  // NOLINT: an address is rounded
      round_up(reinterpret_cast<int64_t>(memory), kAlign));
}

RunningMaker::RunningMaker(const BlockMaker& about, const BlockMemory& memory, int32_t* failed_check)
    : about_(&about), failed_check_(failed_check) {
  for (const Place& place : about.buffers)
    buffers_.push_back(place.kind == Place::Kind::block ? nullptr : memory.find(place));
  for (int input : about.strided_inputs) {
    const int64_t* strides = memory.strides_of(input);
    strides_.insert(strides_.end(), strides, strides + memory.rank_of(input));
  }
  if (about.sites.empty()) return;
  checked_ = std::make_shared<CheckedKernel>();
  for (size_t i = 0; i < about.sites.size(); ++i)
    checked_->extents.push_back(memory.extent_of(about.buffers[i], about.sites[i].bytes));
}

int64_t RunningMaker::rows_bytes() const {
  return round_up(std::min(about_->rows_at_once, about_->rows) * about_->row_bytes, kAlign);
}

void RunningMaker::make(int64_t first, int64_t end, std::byte* scratch) const {
  std::vector<void*> buffers = buffers_;
  const auto made = std::ranges::find(about_->buffers, Place::Kind::block, &Place::kind);
  // Rows are numbered over all of the operand: the address is that of the row 0 it would have.
  const auto number = static_cast<size_t>(made - about_->buffers.begin());
  buffers[number] = scratch - first * about_->row_bytes;
  KernelFrame frame{buffers.data(), strides_.data(), failed_check_};
  std::vector<BufferExtent> extents;
  if (checked_ != nullptr) {
    extents = checked_->extents;
    extents[number] = {scratch, scratch + rows_bytes()};
    frame.extents = extents.data();
    frame.report = &checked_->report;
  }
  about_->code->nests()[0](&frame, first * about_->tasks_per_row, end * about_->tasks_per_row,
                           scratch + rows_bytes());
}

void RunningMaker::throw_reported() const {
  if (checked_ != nullptr) checked_->throw_reported(*about_->kernel, about_->sites);
}

int64_t PackingAhead::One::units_of_copy() const {
  if (!is_made_by_steps()) return panels_of_copy();
  const BlockMaker& maker = running.maker->about();
  return (maker.rows + maker.rows_at_once - 1) / maker.rows_at_once;
}

int64_t PackingAhead::One::unit_bytes() const {
  if (!is_made_by_steps()) return panels.bytes;
  const BlockMaker& maker = running.maker->about();
  return maker.rows_at_once * maker.row_bytes;
}

void PackingAhead::add(const ProductMethod& method, bool is_lhs, const RunningOperand& running,
                       std::atomic<double>* largest) {
  const int64_t first = all_.empty() ? 0 : all_.back().first + all_.back().count;
  One& one = all_.emplace_back(One{method, is_lhs, running, Panels(method, is_lhs), first, 0, largest});
  one.count = running.about->copies * one.units_of_copy();
}

int64_t PackingAhead::scratch_of_a_thread() const {
  int64_t of_one = 0;
  for (const One& one : all_) {
    if (one.running.maker) of_one = std::max(of_one, one.running.maker->scratch_bytes());
  }
  return round_up(of_one, kAlign);
}

int64_t PackingAhead::scratch_bytes(int threads) const { return scratch_of_a_thread() * threads; }

void PackingAhead::run(std::byte* scratch, int threads) const {
  if (all_.empty()) return;
  constexpr double kBytesPerNanosecond = 4;
  int64_t most_bytes = 1;
  for (const One& one : all_) most_bytes = std::max(most_bytes, one.unit_bytes());
  const int64_t of_a_thread = scratch_of_a_thread();
  ThreadPool::instance().run(
      all_.back().first + all_.back().count, grain_for(static_cast<double>(most_bytes) / kBytesPerNanosecond),
      [&](int64_t begin, int64_t end, int worker) {
        for (const One& one : all_) {
          const int64_t from = std::max(begin, one.first) - one.first;
          const int64_t to = std::min(end, one.first + one.count) - one.first;
          if (from < to) pack_units(one, from, to, scratch + worker * of_a_thread);
        }
      },
      threads);
  for (const One& one : all_) {  // what was made by steps has no panel before the last
    if (one.largest != nullptr && one.is_made_by_steps())
      note_largest(one, one.running.packed, one.running.about->copies * one.panels_of_copy());
  }
}

void PackingAhead::note_largest(const One& one, const std::byte* packed, int64_t panels) {
  const double found =
      one.is_lhs ? one.method.largest_of_a(packed, panels) : one.method.largest_of_b(packed, panels);
  double known = one.largest->load();
  while (found > known && !one.largest->compare_exchange_weak(known, found)) {
  }
}

void PackingAhead::pack_units(const One& one, int64_t begin, int64_t end, std::byte* scratch) {
  const int64_t count = one.units_of_copy();
  while (begin < end) {
    const int64_t copy = begin / count;
    const int64_t first = begin % count;
    const int64_t last = std::min(count, first + (end - begin));
    std::byte* packed = one.running.packed + copy * one.panels_of_copy() * one.panels.bytes;
    if (!one.running.maker) {
      pack_panels(one, copy, first, last, packed);
    } else if (one.is_made_by_steps()) {
      pack_made_steps(one, copy, first, last, packed, scratch);
    } else {
      pack_made_panels(one, copy, first, last, packed, scratch);
    }
    if (one.largest != nullptr && !one.is_made_by_steps())
      note_largest(one, packed + first * one.panels.bytes, last - first);
    begin += last - first;
  }
}

void PackingAhead::pack_panels(const One& one, int64_t copy, int64_t first, int64_t last, std::byte* packed) {
  ProductOperand operand = one.running.operand;
  operand.data = static_cast<const std::byte*>(operand.data) +
                 (one.running.about->copies == 1 ? 0 : offset_of(copy, one.running.batch));
  pack(one.method, one.is_lhs, operand, first, last, packed + first * one.panels.bytes);
}

void PackingAhead::pack_made_panels(const One& one, int64_t copy, int64_t first, int64_t last,
                                    std::byte* packed, std::byte* scratch) {
  const BlockMaker& maker = one.running.maker->about();
  const DType dtype = one.running.about->dtype;
  const auto element = static_cast<int64_t>(size_of(dtype));
  const int64_t at_once = maker.rows_at_once / one.panels.width;
  for (int64_t panel = first; panel < last; panel += at_once) {
    const int64_t end = std::min(panel + at_once, last);
    const int64_t line = panel * one.panels.width;
    const int64_t end_line = std::min(end * one.panels.width, maker.rows);
    one.running.maker->make(copy * maker.rows + line, copy * maker.rows + end_line, scratch);
    const ProductOperand lines{.dtype = dtype,
                               .data = scratch,
                               .lines = {{end_line - line, maker.row_bytes}},
                               .contracted = {{maker.row_bytes / element, element}},
                               .bounds = {}};
    pack(one.method, one.is_lhs, lines, 0, end - panel, packed + panel * one.panels.bytes);
  }
}

void PackingAhead::pack_made_steps(const One& one, int64_t copy, int64_t first, int64_t last,
                                   std::byte* packed, std::byte* scratch) {
  const BlockMaker& maker = one.running.maker->about();
  const int64_t step_bytes = one.is_lhs ? one.method.a_step_bytes() : one.method.b_step_bytes();
  for (int64_t unit = first; unit < last; ++unit) {
    const int64_t step = unit * maker.rows_at_once;
    const int64_t end_step = std::min(step + maker.rows_at_once, maker.rows);
    one.running.maker->make(copy * maker.rows + step, copy * maker.rows + end_step, scratch);
    const ProductOperand steps = steps_made(one.running, end_step - step, scratch);
    pack_steps(one.method, one.is_lhs, steps, packed + step * step_bytes);
  }
}

}  // namespace tokamak
