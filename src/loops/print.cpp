#include <sstream>

#include "ir/layout.h"
#include "loops/nest.h"
#include "loops/walk.h"

namespace tokamak {
namespace {

std::string literal_text(const Tensor& value) {
  std::ostringstream text;
  text.precision(17);
  const DType dtype = value.type().dtype;
  if (is_float(dtype)) {
    text << element_as_double(value, 0);
  } else if (dtype == DType::boolean) {
    text << (element_as_int(value, 0) != 0 ? "true" : "false");
  } else if (dtype == DType::u64) {
    text << static_cast<uint64_t>(element_as_int(value, 0));
  } else {
    text << element_as_int(value, 0);
  }
  return text.str();
}

class Printer {
 public:
  explicit Printer(const LoopKernel& kernel) : kernel_(kernel) {}

  std::string run() {
    out_ << "kernel @" << kernel_.name << "(" << buffers(Buffer::Role::input) << ") -> ("
         << buffers(Buffer::Role::output) << ") {\n";
    for (const Buffer& buffer : kernel_.buffers) {
      if (buffer.role == Buffer::Role::scratch)
        line(1, "scratch %" + buffer.name + ": " + to_string(buffer.type) + spread(buffer));
      if (buffer.role == Buffer::Role::partial)
        line(1, "partial %" + buffer.name + ": " + to_string(buffer.type));
    }
    for (LoopVar number : kernel_.numbers)
      line(1, "number " + kernel_.variables[static_cast<size_t>(number)] + " below " +
                  std::to_string(kernel_.extents[static_cast<size_t>(number)]));
    for (const Nest& nest : kernel_.nests) loop(nest.root, 1);
    out_ << "}\n";
    return out_.str();
  }

 private:
  std::string buffers(Buffer::Role role) const {
    std::string text;
    for (const Buffer& buffer : kernel_.buffers) {
      if (buffer.role != role) continue;
      text += (text.empty() ? "%" : ", %") + buffer.name + ": " + to_string(buffer.type);
      if (buffer.strides != dense_strides(buffer.type)) text += " strided";
    }
    return text;
  }
  /// Strides come with places, which are given last.
  static std::string spread(const Buffer& buffer) {
    if (buffer.strides.empty() || buffer.strides == dense_strides(buffer.type)) return "";
    return ", rows " + std::to_string(buffer.strides[0]) + " bytes apart";
  }
  void line(int depth, const std::string& text) {
    out_ << std::string(static_cast<size_t>(depth) * 2, ' ') << text << "\n";
  }

  std::string text(const Index& index) const {
    return to_string(index, [&](LoopVar var) { return kernel_.variables[static_cast<size_t>(var)]; });
  }
  static std::string text(ValueId value) { return "v" + std::to_string(static_cast<uint32_t>(value)); }
  static std::string text(AccumulatorId id) { return "acc" + std::to_string(static_cast<uint32_t>(id)); }
  std::string text(BufferId buffer, const std::vector<Index>& index) const {
    std::string result = "%" + kernel_[buffer].name + "[";
    for (size_t i = 0; i < index.size(); ++i) result += (i == 0 ? "" : ", ") + text(index[i]);
    return result + "]";
  }
  std::string text(const Guard& guard) const {
    std::string result;
    for (const Condition& condition : guard) {
      result += result.empty() ? "" : " and ";
      if (condition.low != INT64_MIN) result += std::to_string(condition.low) + " <= ";
      result += text(condition.index);
      if (condition.high != INT64_MAX) result += " < " + std::to_string(condition.high);
    }
    return result;
  }
  std::string text(const Count& count) const {
    const std::string extent = std::to_string(count.extent);
    return count.bound ? "min(" + extent + ", " + text(*count.bound) + ")" : extent;
  }
  std::string typed(ValueId value) const { return text(value) + ": " + std::string(name_of(kernel_[value])); }

  void loop(const Loop& loop, int depth) {
    static constexpr const char* kKinds[] = {"parallel", "for", "vector"};
    std::string head = std::string(kKinds[static_cast<size_t>(loop.kind)]) + " " +
                       kernel_.variables[static_cast<size_t>(loop.var)] + " in 0..";
    head += text(Count{loop.extent, loop.bound});
    if (loop.kind == LoopKind::vector) head += " by " + std::to_string(loop.lanes) + " lanes";
    line(depth, head);
    body(loop.body, depth + 1);
  }

  void body(const std::vector<Stmt>& statements, int depth) {
    for (const Stmt& stmt : statements) {
      if (const Loop* inner = as_loop(stmt)) {
        loop(*inner, depth);
      } else if (const Branch* branch = as_branch(stmt)) {
        line(depth, "if " + text(branch->guard));
        body(branch->body, depth + 1);
        if (!branch->otherwise.empty()) line(depth, "else");
        body(branch->otherwise, depth + 1);
      } else {
        line(depth, std::visit([&](const auto& s) { return statement(s); }, stmt));
      }
    }
  }

  std::string statement(const Literal& s) const {
    const std::string value =
        s.bits ? kernel_.variables[static_cast<size_t>(*s.bits)] : literal_text(s.value);
    return typed(s.result) + " = " + value;
  }
  std::string statement(const IndexValue& s) const { return typed(s.result) + " = index " + text(s.index); }
  std::string statement(const Test& s) const { return typed(s.result) + " = test " + text(s.guard); }
  std::string statement(const Load& s) const {
    return typed(s.result) + " = " + text(s.buffer, s.index) +
           (s.guard.empty() ? "" : " where " + text(s.guard));
  }
  std::string statement(const Compute& s) const {
    std::string result = typed(s.result) + " = " + std::string(name_of(s.op));
    for (size_t i = 0; i < s.operands.size(); ++i) result += (i == 0 ? " " : ", ") + text(s.operands[i]);
    return result;
  }
  std::string statement(const Store& s) const {
    return text(s.buffer, s.index) + " = " + text(s.value) + (s.mask ? " where " + text(*s.mask) : "") +
           (s.non_temporal ? " (streamed)" : "");
  }
  std::string statement(const Declare& s) const {
    const Accumulator& a = kernel_[s.accumulator];
    std::string result =
        text(s.accumulator) + " := " + std::string(name_of(a.op)) + " " + std::string(name_of(a.dtype));
    if (a.lanes > 1)
      result += ", " + std::to_string(a.lanes) + (a.across_lanes ? " lanes to combine" : " lanes");
    if (a.cascade) result += ", pairwise";
    if (a.each) result += ", for each " + kernel_.variables[static_cast<size_t>(*a.each)];
    return result;
  }
  std::string statement(const Accumulate& s) const {
    std::string result = text(s.accumulator) + " <- " + text(s.value);
    if (s.position) result += " at " + text(*s.position);
    return s.running ? typed(*s.running) + " = (" + result + ")" : result;
  }
  std::string statement(const Merge& s) const { return text(s.into) + " <- " + text(s.from); }
  std::string statement(const Read& s) const { return typed(s.result) + " = " + text(s.accumulator); }
  std::string statement(const Spill& s) const {
    return "%" + kernel_[s.buffer].name + "[" + text(s.slot) + "] = lanes of " + text(s.accumulator);
  }
  std::string statement(const Unspill& s) const {
    return text(s.accumulator) + " := %" + kernel_[s.buffer].name + "[" + text(s.slot) + "]";
  }
  std::string statement(const CheckRange& s) const {
    return "check 0 <= " + text(s.value) + " < " + std::to_string(s.extent);
  }
  std::string statement(const TransposeTile& s) const {
    const std::string matrix = text(s.matrix, s.index);
    const std::string tile = "%" + kernel_[s.tile].name;
    return "transpose " + text(s.rows) + " x " + text(s.columns) + " of " + (s.to_matrix ? tile : matrix) +
           " to " + (s.to_matrix ? matrix : tile);
  }
  std::string statement(const Prefetch& s) const {
    return "fetch " + text(s.buffer, s.index) + (s.to_first ? " close" : "");
  }
  std::string statement(const std::shared_ptr<Branch>&) const { return {}; }
  std::string statement(const std::shared_ptr<Loop>&) const { return {}; }

  const LoopKernel& kernel_;
  std::ostringstream out_;
};

}  // namespace

std::string print(const LoopKernel& kernel) { return Printer(kernel).run(); }

int64_t accumulator_value_bytes(const Accumulator& accumulator) {
  const bool half = accumulator.dtype == DType::f16 || accumulator.dtype == DType::bf16;
  return half ? 4 : static_cast<int64_t>(size_of(accumulator.dtype));
}

int64_t accumulator_lane_bytes(const Accumulator& accumulator) {
  const int64_t position = accumulator.position ? static_cast<int64_t>(size_of(*accumulator.position)) : 0;
  return accumulator_value_bytes(accumulator) + position;
}

}  // namespace tokamak
