#include <array>
#include <atomic>
#include <vector>

#include "ops/math/expr.h"
#include "ops/record.h"

namespace tokamak {
namespace {

/// Throughput of one vector instruction relative to an add, roughly as on today's x86-64 cores.
double cost_of(Prim prim, Lane lane) {
  switch (prim) {
    case Prim::fdiv:
    case Prim::fsqrt:
      return lane == Lane::f32 ? 5 : 8;
    case Prim::sdiv:
    case Prim::udiv:
    case Prim::srem:
    case Prim::urem:
      return 25;
    case Prim::imul:
      return lane == Lane::i64 ? 4 : lane == Lane::i8 ? 3 : 1;
    case Prim::popcount:
      return 5;
    case Prim::round_f16:
      return 2;
    case Prim::round_bf16:
      return 5;
    case Prim::ffloor:
    case Prim::fceil:
    case Prim::ftrunc:
    case Prim::fround_even:
    case Prim::fscale:
      return 2;
    case Prim::fadd:
    case Prim::fsub:
    case Prim::fmul:
    case Prim::fneg:
    case Prim::fabs:
    case Prim::fcopysign:
    case Prim::fma:
    case Prim::feq:
    case Prim::fne:
    case Prim::flt:
    case Prim::fle:
    case Prim::iadd:
    case Prim::isub:
    case Prim::iand:
    case Prim::ior:
    case Prim::ixor:
    case Prim::ishl:
    case Prim::ilshr:
    case Prim::iashr:
    case Prim::ieq:
    case Prim::ine:
    case Prim::slt:
    case Prim::sle:
    case Prim::ult:
    case Prim::ule:
    case Prim::select:
      return 1;
  }
  return 1;
}

double cost_of(Cast cast, Lane to) {
  switch (cast) {
    case Cast::bitcast:
      return 0;
    case Cast::sext:
    case Cast::zext:
    case Cast::trunc:
    case Cast::fpext:
    case Cast::fptrunc:
      return 1;
    case Cast::sitofp:
    case Cast::uitofp:
      return 2;
    case Cast::fptosi:
      return to == Lane::i64 ? 6 : 2;
    case Cast::f64_to_f16_value:
    case Cast::f64_to_bf16_value:
      return 12;
  }
  return 1;
}

constexpr double kCallCost = 40;  // a scalar call per lane
constexpr double kLookupCost = 2;

/// Walks through scalar code and adds up; the values are only their lanes.
class CostCounter : public ScalarBuilder {
 public:
  double total() const { return total_; }
  Scalar make(Lane lane) {
    lanes_.push_back(lane);
    return static_cast<Scalar>(lanes_.size() - 1);
  }

  using ScalarBuilder::prim;
  Lane lane(Scalar value) const override { return lanes_[static_cast<size_t>(value)]; }
  bool has_fma() const override { return true; }
  Scalar constant_bits(Lane lane, uint64_t) override { return make(lane); }
  Scalar prim(Prim prim, std::span<const Scalar> operands) override {
    const Lane operand = lane(operands.back());
    total_ += cost_of(prim, operand);
    return make(gives_i1(prim) ? Lane::i1 : operand);
  }
  Scalar cast(Cast cast, Scalar, Lane to) override {
    total_ += cost_of(cast, to);
    return make(to);
  }
  Scalar call(const LibmFunction& function, std::span<const Scalar>) override {
    total_ += kCallCost;
    return make(function.lane);
  }
  Scalar lookup(const LookupTable&, Scalar) override {
    total_ += kLookupCost;
    return make(Lane::f64);
  }
  Scalar unlikely(Scalar, Scalar usual, const std::function<Scalar()>&) override {
    total_ += 1;  // the test; what it guards does not run
    return usual;
  }

 private:
  std::vector<Lane> lanes_;
  double total_ = 0;
};

double count(Op op, DType operand, DType result) {
  CostCounter counter;
  std::vector<Scalar> operands;
  std::vector<DType> dtypes;
  for (int i = 0; i < info(op).arity; ++i) {
    dtypes.push_back(op == Op::select && i == 0 ? DType::boolean : operand);
    operands.push_back(counter.make(lane_of(dtypes.back())));
  }
  emit_scalar(counter, op, operands, dtypes, result);
  return counter.total();
}

/// Fusion asks often. Threads that count the same op at once write the same number.
double remembered_count(Op op, DType operand, DType result) {
  constexpr size_t kDTypeCount = std::size(kAllDTypes);
  static std::array<std::atomic<double>, kOpCount* kDTypeCount* kDTypeCount> cost_plus_one = {};
  const size_t place = (static_cast<size_t>(op) * kDTypeCount + static_cast<size_t>(operand)) * kDTypeCount +
                       static_cast<size_t>(result);
  double known = cost_plus_one[place].load(std::memory_order_relaxed);
  if (known == 0) {
    known = count(op, operand, result) + 1;
    cost_plus_one[place].store(known, std::memory_order_relaxed);
  }
  return known - 1;
}

}  // namespace

bool gives_i1(Prim prim) {
  switch (prim) {
    case Prim::feq:
    case Prim::fne:
    case Prim::flt:
    case Prim::fle:
    case Prim::ieq:
    case Prim::ine:
    case Prim::slt:
    case Prim::sle:
    case Prim::ult:
    case Prim::ule:
      return true;
    default:
      return false;
  }
}

double scalar_cost(Op op, DType operand, DType result) {
  switch (family_of(op)) {
    case OpFamily::Elementwise:
      return remembered_count(op, operand, result);
    case OpFamily::Reduce:
    case OpFamily::Cumulative:
    case OpFamily::Sort:
    case OpFamily::Contract:
      return 1;
    case OpFamily::Source:
    case OpFamily::View:
    case OpFamily::Index:
      return 0;
  }
  return 0;
}

}  // namespace tokamak
