#include "codegen/index_emit.h"

#include <algorithm>
#include <bit>

#include "codegen/codegen.h"
#include "loops/walk.h"
#include "tokamak/errors.h"

namespace tokamak::codegen {
namespace {

using llvm::Value;

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

size_t position_of(const FunctionState& f, LoopVar var) {
  for (size_t i = f.loops.size(); i-- > 0;)
    if (f.loops[i].var == var) return i;
  throw InternalError("variable " + f.kernel.variables[static_cast<size_t>(var)] +
                      " used outside of its loop");
}

/// How many of the open loops must run for the atom to be known.
size_t depth_of(const FunctionState& f, const Index& index);
size_t depth_of(const FunctionState& f, const IndexAtom& atom) {
  return std::visit(
      Overloaded{
          [&](LoopVar var) { return position_of(f, var) + 1; },
          [&](const Quotient& q) { return depth_of(f, *q.numerator); },
          [&](const Remainder& r) { return depth_of(f, *r.numerator); },
          [&](ValueId id) { return f.values[static_cast<size_t>(id)].depth; },
          [&](const Scaled& s) { return std::max(position_of(f, s.factor) + 1, depth_of(f, *s.index)); },
      },
      atom);
}
size_t depth_of(const FunctionState& f, const Index& index) {
  size_t depth = 0;
  for (const IndexTerm& term : index.terms) depth = std::max(depth, depth_of(f, term.atom));
  return depth;
}

/// Whether lanes see different numbers.
bool varies(const FunctionState& f, const Index& index);
bool varies(const FunctionState& f, const IndexAtom& atom) {
  return std::visit(Overloaded{
                        [&](LoopVar var) { return f.loops[position_of(f, var)].lanes > 1; },
                        [&](const Quotient& q) { return varies(f, *q.numerator); },
                        [&](const Remainder& r) { return varies(f, *r.numerator); },
                        [&](ValueId id) { return is_vector(f.value(id)); },
                        [&](const Scaled& s) { return varies(f, *s.index); },
                    },
                    atom);
}
bool varies(const FunctionState& f, const Index& index) {
  return std::ranges::any_of(index.terms, [&](const IndexTerm& term) { return varies(f, term.atom); });
}

std::string key_of(const Index& index);
std::string key_of(const IndexAtom& atom) {
  return std::visit(
      Overloaded{
          [](LoopVar var) { return "v" + std::to_string(static_cast<uint32_t>(var)); },
          [](const Quotient& q) { return "(" + key_of(*q.numerator) + ")/" + std::to_string(q.divisor); },
          [](const Remainder& r) { return "(" + key_of(*r.numerator) + ")%" + std::to_string(r.divisor); },
          [](ValueId id) { return "s" + std::to_string(static_cast<uint32_t>(id)); },
          [](const Scaled& s) {
            return "(" + key_of(*s.index) + ")*v" + std::to_string(static_cast<uint32_t>(s.factor));
          },
      },
      atom);
}
std::string key_of(const Index& index) {
  std::string key = std::to_string(index.constant);
  for (const IndexTerm& term : index.terms) key += "+" + std::to_string(term.coefficient) + key_of(term.atom);
  return key;
}

Value* as_integer(FunctionState& f, ValueId id, unsigned bits) {
  Value* value = f.value(id);
  const DType dtype = f.kernel[id];
  llvm::Type* type = with_lanes(f.b.getIntNTy(bits), lanes_of(value));
  return is_signed_integer(dtype) ? f.b.CreateSExtOrTrunc(value, type) : f.b.CreateZExtOrTrunc(value, type);
}

Value* number(const FunctionState& f, LoopVar var) { return f.loops[position_of(f, var)].value; }

Value* uniform_atom(FunctionState& f, const IndexAtom& atom) {
  auto hoisted = [&](auto make) { return f.at_depth(depth_of(f, atom), key_of(atom), make); };
  auto divided = [&](const auto& division, auto divide) {
    return hoisted([&] {
      return divide(emit_uniform_index(f, *division.numerator),
                    f.b.getInt64(static_cast<uint64_t>(division.divisor)));
    });
  };
  return std::visit(Overloaded{
                        [&](LoopVar var) { return number(f, var); },
                        [&](const Quotient& q) {
                          return divided(q, [&](Value* n, Value* d) { return f.b.CreateUDiv(n, d); });
                        },
                        [&](const Remainder& r) {
                          return divided(r, [&](Value* n, Value* d) { return f.b.CreateURem(n, d); });
                        },
                        [&](ValueId id) { return hoisted([&] { return as_integer(f, id, 64); }); },
                        [&](const Scaled& s) {
                          return hoisted([&] {
                            return f.b.CreateMul(emit_uniform_index(f, *s.index), number(f, s.factor));
                          });
                        },
                    },
                    atom);
}

unsigned bits_needed(const FunctionState& f, const Index& index) {
  // One vector's worth below the limit: lanes that are off run past the end.
  constexpr int64_t kLimit = int64_t{1} << 30;
  auto bounds = bounds_of(index, f.kernel.extents_function());
  return bounds && bounds->low > -kLimit && bounds->high < kLimit ? 32 : 64;
}

/// 0, 1, 2, ... times `factor`.
llvm::Constant* lane_numbers(FunctionState& f, unsigned bits, int64_t factor) {
  llvm::Type* type = f.b.getIntNTy(bits);
  llvm::SmallVector<llvm::Constant*, 64> numbers;
  for (unsigned lane = 0; lane < f.width; ++lane)
    numbers.push_back(
        llvm::ConstantInt::getSigned(type, static_cast<int64_t>(lane) * factor, /*ImplicitTrunc=*/true));
  return llvm::ConstantVector::get(numbers);
}

Value* lanes_of_index(FunctionState& f, const Index& index, unsigned bits);

Value* lanes_of_atom(FunctionState& f, const IndexAtom& atom, unsigned bits) {
  auto divided = [&](const auto& division, auto divide) {
    const unsigned wide = bits_needed(f, *division.numerator);
    Value* numerator = lanes_of_index(f, *division.numerator, wide);
    Value* divisor = llvm::ConstantInt::get(numerator->getType(), static_cast<uint64_t>(division.divisor));
    return f.b.CreateZExtOrTrunc(divide(numerator, divisor), with_lanes(f.b.getIntNTy(bits), f.width));
  };
  return std::visit(
      Overloaded{
          [&](LoopVar) -> Value* { throw InternalError("a loop variable is linear in its lanes"); },
          [&](const Quotient& q) {
            return divided(q, [&](Value* n, Value* d) { return f.b.CreateUDiv(n, d); });
          },
          [&](const Remainder& r) {
            return divided(r, [&](Value* n, Value* d) { return f.b.CreateURem(n, d); });
          },
          [&](ValueId id) { return as_integer(f, id, bits); },
          [&](const Scaled& s) {
            Value* factor = f.b.CreateTrunc(number(f, s.factor), f.b.getIntNTy(bits));
            return f.b.CreateMul(lanes_of_index(f, *s.index, bits), f.lanes.spread(factor, f.width));
          },
      },
      atom);
}

/// The index in every lane, modulo 2^bits.
Value* lanes_of_index(FunctionState& f, const Index& index, unsigned bits) {
  Index uniform(index.constant);
  Value* sum = nullptr;
  auto add = [&](Value* x) { sum = sum == nullptr ? x : f.b.CreateAdd(sum, x); };
  for (const IndexTerm& term : index.terms) {
    if (!varies(f, term.atom)) {
      uniform.terms.push_back(term);
    } else if (std::holds_alternative<LoopVar>(term.atom)) {
      uniform.terms.push_back(term);  // its first lane
      add(lane_numbers(f, bits, term.coefficient));
    } else {
      Value* atom = lanes_of_atom(f, term.atom, bits);
      Value* factor = llvm::ConstantInt::getSigned(atom->getType()->getScalarType(), term.coefficient, true);
      add(f.b.CreateMul(atom, f.lanes.spread(factor, f.width)));
    }
  }
  Value* first = emit_uniform_index(f, uniform);
  add(f.lanes.spread(f.b.CreateTrunc(first, f.b.getIntNTy(bits)), f.width));
  return sum;
}

/// A term of an address: bytes * stride (1 when null) * atom (1 when null).
struct ByteTerm {
  int64_t bytes;
  Value* stride;
  std::string stride_key;
  const IndexAtom* atom;
  size_t depth;
};

Value* factor_of(FunctionState& f, const ByteTerm& term) {
  Value* bytes = f.b.getInt64(static_cast<uint64_t>(term.bytes));
  if (term.stride == nullptr) return bytes;
  return f.at_depth(0, term.stride_key + "*" + std::to_string(term.bytes),
                    [&] { return f.b.CreateMul(term.stride, bytes); });
}

Value* pointer_at(FunctionState& f, BufferId buffer, std::vector<ByteTerm> terms, int64_t constant) {
  std::ranges::stable_sort(terms, {}, &ByteTerm::depth);
  Value* pointer = emit_base(f, buffer);
  std::string key = "p" + std::to_string(static_cast<uint32_t>(buffer));
  for (const ByteTerm& term : terms) {
    key +=
        "+" + std::to_string(term.bytes) + term.stride_key + (term.atom != nullptr ? key_of(*term.atom) : "");
    pointer = f.at_depth(term.depth, key, [&] {
      Value* offset = factor_of(f, term);
      if (term.atom != nullptr) offset = f.b.CreateMul(uniform_atom(f, *term.atom), offset);
      return f.b.CreateGEP(f.b.getInt8Ty(), pointer, offset);
    });
  }
  return constant == 0 ? pointer
                       : f.b.CreateConstGEP1_64(f.b.getInt8Ty(), pointer, static_cast<uint64_t>(constant));
}

Value* dynamic_stride(FunctionState& f, const Buffer& buffer, size_t axis, std::string& key) {
  const uint64_t slot = buffer.first_stride_slot + axis;
  key = "stride" + std::to_string(slot);
  return f.at_depth(0, key, [&] {
    Value* field =
        f.b.CreateConstGEP1_64(f.b.getInt8Ty(), f.function->getArg(0), offsetof(KernelFrame, strides));
    Value* strides =
        f.at_depth(0, "strides", [&] { return f.b.CreateLoad(f.b.getPtrTy(), field, "strides"); });
    return f.b.CreateLoad(f.b.getInt64Ty(), f.b.CreateConstGEP1_64(f.b.getInt64Ty(), strides, slot),
                          "stride");
  });
}

/// n * variable, n being known at run time only, is the variable with a stride.
void take_factor_out(FunctionState& f, ByteTerm& term) {
  const auto* scaled = std::get_if<Scaled>(term.atom);
  if (scaled == nullptr || !scaled->index->as_variable()) return;
  Value* factor = number(f, scaled->factor);
  const std::string key = term.stride_key + "*v" + std::to_string(static_cast<uint32_t>(scaled->factor));
  term.atom = &scaled->index->terms[0].atom;
  term.stride = term.stride == nullptr
                    ? factor
                    : f.at_depth(0, key, [&] { return f.b.CreateMul(term.stride, factor); });
  term.stride_key = key;
}

/// The terms of an address, sorted by how they differ between lanes.
struct AddressTerms {
  int64_t constant = 0;
  std::vector<ByteTerm> uniform;    ///< of the first lane, unless in `irregular`
  std::vector<ByteTerm> per_lane;   ///< linear in the vector variable: what one lane adds
  std::vector<ByteTerm> irregular;  ///< all else that varies
};

AddressTerms terms_of(FunctionState& f, const Buffer& buffer, std::span<const Index> index) {
  AddressTerms terms;
  for (size_t axis = 0; axis < index.size(); ++axis) {
    const bool dynamic = buffer.strides[axis] == kDynamicStride;
    const int64_t scale = dynamic ? 1 : buffer.strides[axis];
    if (scale == 0) continue;
    std::string key;
    Value* stride = dynamic ? dynamic_stride(f, buffer, axis, key) : nullptr;
    if (!dynamic) terms.constant += index[axis].constant * scale;
    if (dynamic && index[axis].constant != 0)
      terms.uniform.push_back({index[axis].constant, stride, key, nullptr, 0});
    for (const IndexTerm& term : index[axis].terms) {
      ByteTerm bytes{term.coefficient * scale, stride, key, &term.atom, depth_of(f, term.atom)};
      take_factor_out(f, bytes);
      const bool varying = varies(f, term.atom);
      const bool linear = std::holds_alternative<LoopVar>(*bytes.atom);
      if (varying && !linear) {
        terms.irregular.push_back(bytes);
      } else {
        terms.uniform.push_back(bytes);
      }
      if (varying && linear)
        terms.per_lane.push_back({bytes.bytes, bytes.stride, bytes.stride_key, nullptr, 0});
    }
  }
  return terms;
}

Value* step_of(FunctionState& f, const std::vector<ByteTerm>& per_lane) {
  Value* step = f.b.getInt64(0);
  for (const ByteTerm& term : per_lane) step = f.b.CreateAdd(step, factor_of(f, term));
  return step;
}

Value* irregular_offsets(FunctionState& f, const AddressTerms& terms) {
  auto* type = llvm::FixedVectorType::get(f.b.getInt64Ty(), f.width);
  Index fixed;
  for (const ByteTerm& term : terms.irregular)
    if (term.stride == nullptr) fixed.terms.push_back({term.bytes, *term.atom});
  Value* sum = llvm::Constant::getNullValue(type);
  if (!fixed.terms.empty()) sum = f.b.CreateSExt(lanes_of_index(f, fixed, bits_needed(f, fixed)), type);
  for (const ByteTerm& term : terms.irregular)
    if (term.stride != nullptr)
      sum = f.b.CreateAdd(
          sum, f.b.CreateMul(lanes_of_atom(f, *term.atom, 64), f.lanes.spread(factor_of(f, term), f.width)));
  if (!terms.per_lane.empty()) {
    Value* step = f.lanes.spread(step_of(f, terms.per_lane), f.width);
    sum = f.b.CreateAdd(sum, f.b.CreateMul(lane_numbers(f, 64, 1), step));
  }
  return sum;
}

/// Whether the index is linear in the lanes, one from each to the next, and in the first of them a multiple.
bool counts_lanes_from_multiple(const FunctionState& f, const Index& index, int64_t divisor) {
  if (index.constant % divisor != 0) return false;
  bool counts = false;
  for (const IndexTerm& term : index.terms) {
    const bool varying = varies(f, term.atom);
    const auto* var = std::get_if<LoopVar>(&term.atom);
    if (varying && (var == nullptr || term.coefficient != 1 || counts)) return false;
    const int64_t step = varying ? f.loops[position_of(f, *var)].lanes : 1;
    if (term.coefficient * step % divisor != 0) return false;
    counts = counts || varying;
  }
  return counts;
}

}  // namespace

Value* emit_uniform_index(FunctionState& f, const Index& index) {
  std::vector<const IndexTerm*> terms;
  for (const IndexTerm& term : index.terms) terms.push_back(&term);
  std::ranges::stable_sort(terms, {}, [&](const IndexTerm* term) { return depth_of(f, term->atom); });
  Value* sum = f.b.getInt64(0);
  std::string key = "i";
  for (const IndexTerm* term : terms) {
    key += "+" + std::to_string(term->coefficient) + key_of(term->atom);
    sum = f.at_depth(depth_of(f, term->atom), key, [&] {
      Value* factor = f.b.getInt64(static_cast<uint64_t>(term->coefficient));
      return f.b.CreateAdd(sum, f.b.CreateMul(uniform_atom(f, term->atom), factor));
    });
  }
  return f.b.CreateAdd(sum, f.b.getInt64(static_cast<uint64_t>(index.constant)));
}

Value* emit_index(FunctionState& f, const Index& index) {
  if (!varies(f, index)) return emit_uniform_index(f, index);
  return lanes_of_index(f, index, bits_needed(f, index));
}

Value* emit_guard(FunctionState& f, const Guard& guard) {
  Value* holds = nullptr;
  for (const Condition& condition : guard) {
    auto bounds = bounds_of(condition.index, f.kernel.extents_function());
    const bool check_low = !bounds || bounds->low < condition.low;
    const bool check_high = !bounds || bounds->high >= condition.high;
    if (bounds && (bounds->high < condition.low || bounds->low >= condition.high)) return f.b.getFalse();
    if (!check_low && !check_high) continue;
    Value* index = emit_index(f, condition.index);
    auto number = [&](int64_t n) { return llvm::ConstantInt::getSigned(index->getType(), n); };
    if (check_low) holds = f.lanes.both(holds, f.b.CreateICmpSGE(index, number(condition.low)));
    if (check_high) holds = f.lanes.both(holds, f.b.CreateICmpSLT(index, number(condition.high)));
  }
  return holds;
}

Value* emit_count(FunctionState& f, const Count& count) {
  Value* extent = f.b.getInt64(static_cast<uint64_t>(count.extent));
  if (!count.bound) return extent;
  const std::optional<Bounds> bounds = bounds_of(*count.bound, f.kernel.extents_function());
  if (bounds && bounds->low >= count.extent) return extent;
  return f.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, emit_uniform_index(f, *count.bound), extent);
}

Value* emit_base(FunctionState& f, BufferId id) {
  const Buffer& buffer = f.kernel[id];
  return f.at_depth(0, "b" + std::to_string(static_cast<uint32_t>(id)), [&]() -> Value* {
    if (buffer.role == Buffer::Role::scratch)
      return f.b.CreateConstGEP1_64(f.b.getInt8Ty(), f.function->getArg(3),
                                    static_cast<uint64_t>(buffer.scratch_offset));
    Value* field =
        f.b.CreateConstGEP1_64(f.b.getInt8Ty(), f.function->getArg(0), offsetof(KernelFrame, buffers));
    Value* buffers =
        f.at_depth(0, "buffers", [&] { return f.b.CreateLoad(f.b.getPtrTy(), field, "buffers"); });
    Value* slot = f.b.CreateConstGEP1_64(f.b.getPtrTy(), buffers, static_cast<uint64_t>(id));
    return f.b.CreateLoad(f.b.getPtrTy(), slot, buffer.name);
  });
}

std::optional<Repetition> emit_repetition(FunctionState& f, BufferId id, std::span<const Index> index) {
  const Buffer& buffer = f.kernel[id];
  AddressTerms terms = terms_of(f, buffer, index);
  if (terms.irregular.size() != 1 || !terms.per_lane.empty()) return std::nullopt;
  const ByteTerm& term = terms.irregular[0];
  const auto* quotient = std::get_if<Quotient>(term.atom);
  const auto* remainder = std::get_if<Remainder>(term.atom);
  const auto size = static_cast<int64_t>(size_of(buffer.type.dtype));
  if ((quotient == nullptr && remainder == nullptr) || term.stride != nullptr || term.bytes != size)
    return std::nullopt;
  const int64_t divisor = quotient != nullptr ? quotient->divisor : remainder->divisor;
  const Index& numerator = quotient != nullptr ? *quotient->numerator : *remainder->numerator;
  const auto width = static_cast<int64_t>(f.width);
  if (width % divisor != 0 && divisor % width != 0) return std::nullopt;
  const int64_t group = std::min(divisor, width);
  if (!counts_lanes_from_multiple(f, numerator, group)) return std::nullopt;
  terms.uniform.push_back(term);  // of the first lane
  return Repetition{.first = pointer_at(f, id, terms.uniform, terms.constant),
                    .count = static_cast<unsigned>(quotient != nullptr ? width / group : group),
                    .in_turns = remainder != nullptr};
}

std::optional<Interleaving> emit_interleaving(FunctionState& f, BufferId id, std::span<const Index> index) {
  const Buffer& buffer = f.kernel[id];
  const auto size = static_cast<int64_t>(size_of(buffer.type.dtype));
  int64_t bytes = size;
  for (size_t axis = buffer.strides.size(); axis-- > 0;) {
    if (buffer.strides[axis] != bytes) return std::nullopt;
    bytes *= buffer.type.shape[axis];
  }
  AddressTerms terms = terms_of(f, buffer, index);
  if (!terms.irregular.empty()) return std::nullopt;
  int64_t group = 0;
  for (const ByteTerm& term : terms.per_lane) group += term.stride == nullptr ? term.bytes : bytes + 1;
  if (group <= size || group > 8 || !std::has_single_bit(static_cast<uint64_t>(group))) return std::nullopt;
  const int64_t offset = terms.constant & (group - 1);
  // A group with an element in the buffer has all of it there if the buffer is made of groups; or if that is
  // so in the first and the last place that the loops come to.
  bool inside = bytes % group == 0;
  for (const ByteTerm& term : terms.uniform) {
    if (term.stride != nullptr) return std::nullopt;
    inside = inside && term.bytes % group == 0;
  }
  if (!inside) {
    const std::optional<Index> position = linear_position(buffer, {index.begin(), index.end()});
    const auto bounds = position ? bounds_of(*position, f.kernel.extents_function()) : std::nullopt;
    if (!bounds || bounds->low * size < offset || bounds->high * size - offset + group > bytes)
      return std::nullopt;
  }
  return Interleaving{pointer_at(f, id, terms.uniform, terms.constant - offset), group, offset};
}

Address emit_address(FunctionState& f, BufferId id, std::span<const Index> index) {
  const Buffer& buffer = f.kernel[id];
  AddressTerms terms = terms_of(f, buffer, index);
  Address address;
  address.first = pointer_at(f, id, terms.uniform, terms.constant);
  if (!terms.irregular.empty()) {
    address.pattern = Address::Pattern::irregular;
    address.offsets = irregular_offsets(f, terms);
    return address;
  }
  if (terms.per_lane.empty()) return address;
  address.step = step_of(f, terms.per_lane);
  const auto size = static_cast<int64_t>(size_of(buffer.type.dtype));
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(address.step)) {
    const int64_t step = known->getSExtValue();
    address.pattern = step == size    ? Address::Pattern::contiguous
                      : step == -size ? Address::Pattern::reversed
                      : step == 0     ? Address::Pattern::uniform
                                      : Address::Pattern::strided;
  } else {
    address.pattern = Address::Pattern::strided;
  }
  return address;
}

}  // namespace tokamak::codegen
