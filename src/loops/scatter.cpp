#include "loops/scatter.h"

#include "loops/buffers.h"
#include "loops/builder.h"
#include "loops/evaluator.h"

namespace tokamak {
namespace {

class ScatterLowering {
 public:
  ScatterLowering(const FusedKernel& fused, const std::vector<Layout>& layouts)
      : body_(fused.body),
        node_(body_[body_.outputs()[0]]),
        builder_(kernel_),
        evaluator_(fused, kernel_, builder_) {
    kernel_.name = fused.name;
    add_kernel_buffers(fused, layouts, builder_);
    output_ = static_cast<BufferId>(body_.parameters().size());
  }

  LoopKernel run() {
    copy_operand();
    insert_updates();
    return std::move(kernel_);
  }

 private:
  const Shape& shape_of(size_t operand) const { return body_.type_of(node_.inputs[operand]).shape; }

  ValueId load(size_t operand, const std::vector<Index>& at) {
    return evaluator_.evaluate(node_.inputs[operand], at);
  }

  std::vector<Index> open_loops(const Shape& shape, const std::string& prefix) {
    std::vector<Index> at;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const LoopVar var = builder_.add_variable(prefix + std::to_string(axis), shape[axis]);
      builder_.open(var, LoopKind::serial, shape[axis]);
      at.push_back(Index::of(var));
    }
    return at;
  }
  void open_root() { builder_.open(builder_.add_variable("task", 1), LoopKind::parallel, 1); }
  void close_loops(size_t count) {
    for (size_t i = 0; i < count; ++i) builder_.close();
  }

  void copy_operand() {
    open_root();
    const std::vector<Index> at = open_loops(shape_of(0), "i");
    builder_.store(output_, at, load(0, at));
    close_loops(at.size() + 1);
  }

  /// Rows are the axes of the operand other than the scattered one; each takes all updates in order.
  void insert_updates() {
    const auto axis = static_cast<size_t>(node_.attributes.integer(Attr::axis));
    const int64_t extent = shape_of(0)[axis];
    open_root();
    Shape row_shape = shape_of(0);
    row_shape.erase(row_shape.begin() + static_cast<int64_t>(axis));
    const std::vector<Index> row = open_loops(row_shape, "r");
    std::vector<Index> position;
    const Shape& index_shape = shape_of(1);
    for (size_t i = 0; i < index_shape.size(); ++i) {
      const LoopVar var = builder_.add_variable("u" + std::to_string(i), index_shape[i]);
      builder_.open(var, LoopKind::serial, index_shape[i], true);
      position.push_back(Index::of(var));
    }
    if (extent != 0) insert_one(row, position, axis, extent);
    close_loops(row.size() + position.size() + 1);
  }

  void insert_one(const std::vector<Index>& row, const std::vector<Index>& position, size_t axis,
                  int64_t extent) {
    const auto split = row.begin() + static_cast<int64_t>(axis);
    std::vector<Index> update_at(row.begin(), split);
    update_at.insert(update_at.end(), position.begin(), position.end());
    update_at.insert(update_at.end(), split, row.end());

    ValueId index = load(1, position);
    if (kernel_[index] != DType::i64) index = builder_.compute(Op::convert, {index}, DType::i64);
    const Word mode = node_.attributes.word(Attr::mode);
    if (mode == Word::check) {
      kernel_.checks.push_back({"scatter: an index is out of bounds for axis " + std::to_string(axis) +
                                    " with size " + std::to_string(extent),
                                node_.where});
      builder_.check_range(index, extent, static_cast<uint32_t>(kernel_.checks.size() - 1));
    }
    const ValueId low = builder_.literal(scalar_tensor(DType::i64, int64_t{0}));
    const ValueId high = builder_.literal(scalar_tensor(DType::i64, extent - 1));
    const ValueId inside =
        builder_.compute(Op::min, {builder_.compute(Op::max, {index, low}, DType::i64), high}, DType::i64);
    std::vector<Index> target(row.begin(), split);
    target.push_back(Index::of(inside));
    target.insert(target.end(), split, row.end());

    const ValueId before = builder_.load_here(output_, target);
    const ValueId update = load(2, update_at);
    ValueId after = combine(before, update);
    if (mode != Word::clamp) {  // out of range: what was there stays
      const ValueId in_range = builder_.test({{Index::of(index), 0, extent}});
      after = builder_.compute(Op::select, {in_range, after, before}, node_.type.dtype);
    }
    builder_.store(output_, target, after);
  }

  ValueId combine(ValueId before, ValueId update) {
    switch (node_.attributes.word(Attr::combine)) {
      case Word::add:
        return builder_.compute(Op::add, {before, update}, node_.type.dtype);
      case Word::mul:
        return builder_.compute(Op::mul, {before, update}, node_.type.dtype);
      case Word::min:
        return builder_.compute(Op::min, {before, update}, node_.type.dtype);
      case Word::max:
        return builder_.compute(Op::max, {before, update}, node_.type.dtype);
      case Word::set:
        return update;
      case Word::clamp:
      case Word::check:
      case Word::drop:
        break;
    }
    throw InternalError("scatter: unknown way to combine", node_.where);
  }

  const Graph& body_;
  const Node& node_;
  LoopKernel kernel_;
  NestBuilder builder_;
  Evaluator evaluator_;
  BufferId output_{};
};

}  // namespace

LoopKernel lower_scatter(const FusedKernel& kernel, const std::vector<Layout>& layouts) {
  return ScatterLowering(kernel, layouts).run();
}

}  // namespace tokamak
