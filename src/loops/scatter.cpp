#include "loops/scatter.h"

#include <limits>

#include "fusion/cost.h"
#include "loops/buffers.h"
#include "loops/builder.h"
#include "loops/evaluator.h"
#include "ops/index.h"
#include "ops/index_map.h"

namespace tokamak {
namespace {

/// Updates whose places and values are computed at once; both stay in the first cache.
constexpr int64_t kBlock = 512;
/// Copies of the operand when tasks share the updates. Not as many as there are threads: sums are the same on
/// every machine.
constexpr int64_t kCopies = 16;
/// With fewer updates than this, or than the copies have elements, one thread is done sooner.
constexpr int64_t kManyUpdates = 1 << 16;

/// The element that changes nothing when it is combined; none where the updates have to go in one by one,
/// because the result depends on how they are grouped.
std::optional<Tensor> neutral_element(Op op, DType dtype) {
  if (dtype == DType::f16 || dtype == DType::bf16) return std::nullopt;
  const bool has_infinity = is_float(dtype);
  const auto bits = static_cast<int>(8 * size_of(dtype));
  const bool is_signed = !is_unsigned_integer(dtype);
  const int64_t lowest = is_signed ? std::numeric_limits<int64_t>::min() >> (64 - bits) : 0;
  const int64_t highest = is_signed ? std::numeric_limits<int64_t>::max() >> (64 - bits) : -1;
  switch (op) {
    case Op::add:
      return has_infinity ? scalar_tensor(dtype, -0.0) : scalar_tensor(dtype, int64_t{0});
    case Op::bit_or:
    case Op::bit_xor:
      return scalar_tensor(dtype, int64_t{0});
    case Op::bit_and:
      return scalar_tensor(dtype, int64_t{-1});
    case Op::max:
      if (has_infinity) return scalar_tensor(dtype, -std::numeric_limits<double>::infinity());
      return scalar_tensor(dtype, dtype == DType::boolean ? 0 : lowest);
    case Op::min:
      if (has_infinity) return scalar_tensor(dtype, std::numeric_limits<double>::infinity());
      return scalar_tensor(dtype, dtype == DType::boolean ? 1 : highest);
    case Op::mul:
      if (!has_infinity) return scalar_tensor(dtype, int64_t{1});
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

class ScatterLowering {
 public:
  ScatterLowering(const FusedKernel& fused, const std::vector<Layout>& layouts, const LowerOptions& options)
      : fused_(fused),
        body_(fused.body),
        domain_(fused.domain),
        node_(body_[body_.outputs()[0]]),
        order_(options.order.rows),
        builder_(kernel_),
        evaluator_(fused, kernel_, builder_),
        axis_(static_cast<size_t>(node_.attributes.integer(Attr::axis))),
        extent_(shape_of(0)[axis_]),
        count_(element_count(shape_of(1))),
        updates_dtype_(body_.type_of(node_.inputs[2]).dtype),
        mode_(node_.attributes.word(Attr::mode)),
        combine_(rules::combining_op(node_.attributes.word(Attr::combine))) {
    kernel_.name = fused.name;
    add_kernel_buffers(fused, layouts, builder_);
    output_ = static_cast<BufferId>(body_.parameters().size());
    for (size_t axis = 0; axis < domain_.extents.size(); ++axis)
      builder_.add_variable("i" + std::to_string(axis), domain_.extents[axis]);
    if (combine_) neutral_ = neutral_element(*combine_, updates_dtype_);
  }

  LoopKernel run() {
    evaluator_.check_first(fused_.checked_first);
    if (has_private_copies()) {
      fill_copies();
      join_copies();
    } else {
      const bool has_updates = node_.type.elements() != 0 && count_ != 0;
      if (rules::only_checks(body_, node_) || (has_updates && is_check(mode_) && may_overwrite_operand()))
        check_places();
      copy_operand();
      if (has_updates) insert_updates();
    }
    return std::move(kernel_);
  }

 private:
  const Shape& shape_of(size_t operand) const { return body_.type_of(node_.inputs[operand]).shape; }

  ValueId evaluate(size_t operand, const std::vector<Index>& at) {
    return evaluator_.evaluate(node_.inputs[operand], at);
  }

  // Loops

  LoopVar open(const std::string& name, int64_t extent, bool ordered) {
    const LoopVar var = builder_.add_variable(name, extent);
    builder_.open(var, LoopKind::serial, extent, ordered);
    return var;
  }
  void open_root() { builder_.open(builder_.add_variable("task", 1), LoopKind::parallel, 1); }
  /// A loop for each axis of the operand from `first` to before `last`.
  std::vector<Index> open_axes(size_t first, size_t last, const std::string& prefix) {
    std::vector<Index> at;
    for (size_t axis = first; axis < last; ++axis) {
      const int64_t extent = shape_of(0)[axis];
      at.push_back(extent == 1 ? Index(0) : Index::of(open(prefix + std::to_string(axis), extent, false)));
    }
    return at;
  }
  void close_all() {
    while (builder_.depth() != 0) builder_.close();
  }
  /// The loops over the operand that are the domain of the kernel.
  std::vector<Index> open_domain() {
    open_root();
    for (size_t i = 0; i < domain_.extents.size(); ++i) {
      const size_t axis = order_.empty() ? i : order_[i];
      builder_.open(static_cast<LoopVar>(axis), LoopKind::serial, domain_.extents[axis]);
    }
    return full_index(domain_, shape_of(0));
  }

  /// Whether the operand is memory that the result may lie in.
  bool may_overwrite_operand() const {
    Value array = node_.inputs[0];
    while (is_view(body_[array].op)) array = body_[array].inputs[0];
    return body_[array].op == Op::parameter && worth_overwriting(body_, node_);
  }

  void check_places() {
    open_root();
    const LoopVar u = open("u", count_, false);
    kernel_.lane_loops.push_back(u);
    check(index_of_update(delinearise(Index::of(u), shape_of(1), kernel_.extents_function())));
    close_all();
    is_checked_ = true;
  }

  void copy_operand() {
    const std::vector<Index> at = open_domain();
    builder_.store(output_, at, evaluate(0, at));
    close_all();
  }

  void insert_updates() {
    target_ = output_;
    open_root();
    const std::vector<Index> outer = open_axes(0, axis_, "r");
    int64_t inner = 1;
    for (size_t axis = axis_ + 1; axis < shape_of(0).size(); ++axis) inner *= shape_of(0)[axis];
    if (inner == 1) {
      insert_blocks(outer, Index(0), count_, false);
    } else {
      insert_rows(outer);
    }
    close_all();
  }

  // Where rows lie behind the axis: one update after the other, a row each

  void insert_rows(const std::vector<Index>& outer) {
    const LoopVar u = open("u", count_, true);
    const std::vector<Index> position = delinearise(Index::of(u), shape_of(1), kernel_.extents_function());
    const Place place = place_of(position);
    const LoopVar before = static_cast<LoopVar>(kernel_.variables.size());
    const std::vector<Index> inner = open_axes(axis_ + 1, shape_of(0).size(), "c");
    const auto last = static_cast<LoopVar>(kernel_.variables.size() - 1);
    if (last >= before) kernel_.lane_loops.push_back(last);
    put(joined(outer, {Index::of(place.inside)}, inner), place, evaluate(2, joined(outer, position, inner)));
  }

  static std::vector<Index> joined(const std::vector<Index>& a, const std::vector<Index>& b,
                                   const std::vector<Index>& c) {
    std::vector<Index> all = a;
    all.insert(all.end(), b.begin(), b.end());
    all.insert(all.end(), c.begin(), c.end());
    return all;
  }

  // Where single elements are updated: places and values in lanes, then one after the other

  /// A value that the loop over lanes makes for the loop after it.
  struct Handed {
    ValueId value;
    std::optional<BufferId> buffer;  ///< none: it is the same in all lanes, and at hand
  };

  Handed hand_over(ValueId value, LoopVar lane) {
    if (builder_.depth_of(value) + 1 < builder_.depth()) return {value, std::nullopt};
    Buffer buffer{"block" + std::to_string(kernel_.buffers.size()),
                  {kernel_[value], {kBlock}},
                  Buffer::Role::scratch,
                  {}};
    buffer.aligned = true;
    const BufferId id = builder_.add_buffer(std::move(buffer));
    builder_.store(id, {Index::of(lane)}, value);
    return {value, id};
  }
  ValueId take_over(const Handed& handed, LoopVar at) {
    return handed.buffer ? builder_.load(*handed.buffer, {Index::of(at)}, {}) : handed.value;
  }

  /// Updates `first` to `first + count`, of which those past the last one are not there.
  void insert_blocks(const std::vector<Index>& outer, const Index& first, int64_t count, bool may_end_early) {
    const Index start = first + Index::of(open("b", (count + kBlock - 1) / kBlock, true)) * kBlock;
    const bool is_short = may_end_early || count % kBlock != 0;
    const std::optional<Index> bound = is_short ? std::optional<Index>(Index(count_) - start) : std::nullopt;

    const LoopVar lane = open("k", kBlock, false);
    kernel_.lane_loops.push_back(lane);
    if (bound) builder_.bound(*bound);
    const Extents extents = kernel_.extents_function();
    const std::vector<Index> position = delinearise(start + Index::of(lane), shape_of(1), extents);
    Place place = place_of(position);
    ValueId update = evaluate(2, joined(outer, position, unit_tail()));
    if (place.in_range && neutral_) {  // adding nothing is as good as leaving out
      update = builder_.compute(Op::select, {*place.in_range, update, builder_.literal(*neutral_)},
                                updates_dtype_);
      place.in_range.reset();
    }
    const Handed inside = hand_over(place.inside, lane);
    const Handed value = hand_over(update, lane);
    std::optional<Handed> in_range;
    if (place.in_range) in_range = hand_over(*place.in_range, lane);
    builder_.close();

    const LoopVar one = open("j", kBlock, true);
    if (bound) builder_.bound(*bound);
    Place taken{take_over(inside, one), std::nullopt};
    if (in_range) taken.in_range = take_over(*in_range, one);
    put(joined(outer, {Index::of(taken.inside)}, unit_tail()), taken, take_over(value, one));
    builder_.close();
  }

  std::vector<Index> unit_tail() const {
    return std::vector<Index>(shape_of(0).size() - axis_ - 1, Index(0));
  }

  // One update

  struct Place {
    ValueId inside;                   ///< along the axis, never outside
    std::optional<ValueId> in_range;  ///< only what is in range is to be written; none: everything is
  };

  ValueId index_of_update(const std::vector<Index>& position) {
    return builder_.as_index(evaluate(1, position));
  }

  void check(ValueId index) {
    kernel_.checks.push_back({rules::out_of_range(node_, extent_)});
    builder_.check_range(index, extent_, static_cast<uint32_t>(kernel_.checks.size() - 1));
  }

  Place place_of(const std::vector<Index>& position) {
    const ValueId index = index_of_update(position);
    if (is_check(mode_) && !is_checked_) check(index);
    Place place;
    if (mode_ == Word::drop) place.in_range = builder_.test({{Index::of(index), 0, extent_}});
    const ValueId low = builder_.literal(scalar_tensor(DType::i64, int64_t{0}));
    const ValueId high = builder_.literal(scalar_tensor(DType::i64, extent_ - 1));
    place.inside =
        builder_.compute(Op::min, {builder_.compute(Op::max, {index, low}, DType::i64), high}, DType::i64);
    return place;
  }

  void put(const std::vector<Index>& at, const Place& place, ValueId update) {
    const std::vector<Index> to = joined(copy_, at, {});
    if (!combine_ && !place.in_range) return builder_.store(target_, to, update);
    const ValueId before = builder_.load_here(target_, to);
    ValueId after = combine_ ? combined(before, update) : update;
    if (place.in_range)
      after = builder_.compute(Op::select, {*place.in_range, after, before}, kernel_[before]);
    builder_.store(target_, to, after);
  }

  ValueId combined(ValueId before, ValueId update) {
    const DType dtype = node_.type.dtype;
    if (dtype != updates_dtype_) before = builder_.compute(Op::convert, {before}, updates_dtype_);
    const ValueId after = builder_.compute(*combine_, {before, update}, updates_dtype_);
    return dtype == updates_dtype_ ? after : builder_.compute(Op::convert, {after}, dtype);
  }

  // Copies of the operand

  bool has_private_copies() const {
    return neutral_ && updates_dtype_ == node_.type.dtype && node_.type.elements() == extent_ &&
           count_ >= kManyUpdates && extent_ * kCopies <= count_;
  }

  void fill_copies() {
    const int64_t blocks = (count_ + kBlock - 1) / kBlock;
    const int64_t share = (blocks + kCopies - 1) / kCopies * kBlock;
    Buffer buffer{"copies", {node_.type.dtype, {kCopies, extent_}}, Buffer::Role::partial, {}};
    buffer.strides = dense_strides(buffer.type);
    buffer.aligned = true;
    target_ = copies_ = builder_.add_buffer(std::move(buffer));
    open_root();
    const Index copy = Index::of(open("copy", kCopies, false));
    copy_ = {copy};
    const LoopVar cleared = open("m", extent_, false);
    kernel_.lane_loops.push_back(cleared);
    builder_.store(copies_, {copy, Index::of(cleared)}, builder_.literal(*neutral_));
    builder_.close();
    // Axes of the operand but the scattered one have an extent of 1.
    insert_blocks(std::vector<Index>(axis_, Index(0)), copy * share, share, true);
    close_all();
    copy_.clear();
  }

  void join_copies() {
    const std::vector<Index> at = open_domain();
    ValueId joined = evaluate(0, at);
    for (int64_t copy = 0; copy < kCopies; ++copy) {
      const ValueId part = builder_.load(copies_, {Index(copy), at[axis_]}, {});
      joined = builder_.compute(*combine_, {joined, part}, node_.type.dtype);
    }
    builder_.store(output_, at, joined);
    close_all();
  }

  const FusedKernel& fused_;
  const Graph& body_;
  const Domain& domain_;
  const Node& node_;
  const std::vector<size_t>& order_;
  LoopKernel kernel_;
  NestBuilder builder_;
  Evaluator evaluator_;
  const size_t axis_;
  const int64_t extent_;
  const int64_t count_;
  const DType updates_dtype_;
  const Word mode_;
  const std::optional<Op> combine_;
  std::optional<Tensor> neutral_;
  bool is_checked_ = false;  ///< all places, by a nest before those that write
  BufferId output_{};
  BufferId copies_{};
  BufferId target_{};        ///< what the updates go into
  std::vector<Index> copy_;  ///< which copy of the operand it is, when it has several
};

}  // namespace

LoopKernel lower_scatter(const FusedKernel& kernel, const std::vector<Layout>& layouts,
                         const LowerOptions& options) {
  return ScatterLowering(kernel, layouts, options).run();
}

}  // namespace tokamak
