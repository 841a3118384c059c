#include "loops/builder.h"

#include <algorithm>
#include <limits>

namespace tokamak {

LoopVar NestBuilder::add_variable(std::string name, int64_t extent) {
  kernel_.variables.push_back(std::move(name));
  kernel_.extents.push_back(extent);
  return static_cast<LoopVar>(kernel_.variables.size() - 1);
}

AccumulatorId NestBuilder::add_accumulator(Accumulator accumulator) {
  kernel_.accumulators.push_back(accumulator);
  return static_cast<AccumulatorId>(kernel_.accumulators.size() - 1);
}

BufferId NestBuilder::add_buffer(Buffer buffer) {
  kernel_.buffers.push_back(std::move(buffer));
  return static_cast<BufferId>(kernel_.buffers.size() - 1);
}

void NestBuilder::open(LoopVar var, LoopKind kind, int64_t extent, bool ordered) {
  Loop loop;
  loop.var = var;
  loop.kind = kind;
  loop.extent = extent;
  loop.ordered = ordered;
  open_.push_back({std::move(loop), next_instance_++});
}

void NestBuilder::close() {
  Loop loop = std::move(open_.back().loop);
  open_.pop_back();
  if (open_.empty()) {
    kernel_.nests.push_back({std::move(loop), 0});
  } else {
    open_.back().loop.body.emplace_back(std::make_shared<Loop>(std::move(loop)));
  }
}

size_t NestBuilder::depth_of(const Index& index) const {
  size_t depth = 0;
  for_each_variable(index, [&](LoopVar var) {
    for (size_t i = open_.size(); i-- > 0;) {
      if (open_[i].loop.var == var) {
        depth = std::max(depth, i);
        return;
      }
    }
    throw InternalError("lower: an index mentions a loop that is not open");
  });
  for_each_value(index, [&](ValueId value) { depth = std::max(depth, depth_of(value)); });
  return depth;
}

size_t NestBuilder::depth_of(const std::vector<Index>& indices) const {
  size_t depth = 0;
  for (const Index& index : indices) depth = std::max(depth, depth_of(index));
  return depth;
}

size_t NestBuilder::depth_of(const Guard& guard) const {
  size_t depth = 0;
  for (const Condition& condition : guard) depth = std::max(depth, depth_of(condition.index));
  return depth;
}

ValueId NestBuilder::new_value(DType dtype, size_t depth) {
  kernel_.values.push_back(dtype);
  value_depths_.push_back(depth);
  return static_cast<ValueId>(kernel_.values.size() - 1);
}

ValueId NestBuilder::literal(const Tensor& value) {
  const ValueId result = new_value(value.type().dtype, 0);
  body(0).emplace_back(Literal{result, value});
  return result;
}

ValueId NestBuilder::index_value(const Index& index, DType dtype) {
  const size_t depth = depth_of(index);
  const ValueId result = new_value(dtype, depth);
  body(depth).emplace_back(IndexValue{result, index});
  return result;
}

ValueId NestBuilder::test(const Guard& guard) {
  const size_t depth = depth_of(guard);
  const ValueId result = new_value(DType::boolean, depth);
  body(depth).emplace_back(Test{result, guard});
  return result;
}

ValueId NestBuilder::load(BufferId buffer, std::vector<Index> index, Guard guard) {
  const size_t depth = std::max(depth_of(index), depth_of(guard));
  const ValueId result = new_value(kernel_[buffer].type.dtype, depth);
  body(depth).emplace_back(Load{result, buffer, std::move(index), std::move(guard)});
  return result;
}

ValueId NestBuilder::load_here(BufferId buffer, std::vector<Index> index) {
  const ValueId result = new_value(kernel_[buffer].type.dtype, innermost());
  body(innermost()).emplace_back(Load{result, buffer, std::move(index), {}});
  return result;
}

ValueId NestBuilder::compute(Op op, std::vector<ValueId> operands, DType dtype) {
  size_t depth = 0;
  for (ValueId operand : operands) depth = std::max(depth, depth_of(operand));
  const ValueId result = new_value(dtype, depth);
  body(depth).emplace_back(Compute{result, op, std::move(operands)});
  return result;
}

ValueId NestBuilder::as_index(ValueId integer) {
  const DType dtype = kernel_[integer];
  if (dtype == DType::i64) return integer;
  if (dtype == DType::u64) {
    const ValueId largest = literal(scalar_tensor(dtype, std::numeric_limits<int64_t>::max()));
    integer = compute(Op::min, {integer, largest}, dtype);
  }
  return compute(Op::convert, {integer}, DType::i64);
}

void NestBuilder::store(BufferId buffer, std::vector<Index> index, ValueId value) {
  body(innermost()).emplace_back(Store{buffer, std::move(index), value});
}

void NestBuilder::check_range(ValueId value, int64_t extent, uint32_t check) {
  body(depth_of(value)).emplace_back(CheckRange{value, extent, check});
}

void NestBuilder::declare(AccumulatorId accumulator) { body(innermost()).emplace_back(Declare{accumulator}); }

void NestBuilder::accumulate(AccumulatorId accumulator, ValueId value, std::optional<Index> position) {
  body(innermost()).emplace_back(Accumulate{accumulator, value, std::move(position), std::nullopt});
}

ValueId NestBuilder::accumulate_running(AccumulatorId accumulator, ValueId value) {
  const ValueId running = new_value(kernel_[accumulator].dtype, innermost());
  body(innermost()).emplace_back(Accumulate{accumulator, value, std::nullopt, running});
  return running;
}

ValueId NestBuilder::read(AccumulatorId accumulator) {
  const Accumulator& record = kernel_[accumulator];
  const ValueId result = new_value(record.position ? DType::i64 : record.dtype, innermost());
  body(innermost()).emplace_back(Read{result, accumulator});
  return result;
}

}  // namespace tokamak
