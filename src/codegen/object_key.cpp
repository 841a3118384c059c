#include "codegen/object_key.h"

#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>

#include "cache/build_id.h"
#include "codegen/llvm_version.h"
#include "codegen/target.h"
#include "support/parts.h"

namespace tokamak::codegen {
namespace {

/// Writes loops down, all of what they are. Every structure is taken apart by name, so that a new member does
/// not compile until it is written down, too, or said not to matter.
class LoopFingerprint {
 public:
  explicit LoopFingerprint(Fingerprint& out) : out_(out) {}

  void add(const LoopKernel& kernel) {
    const auto& [name, buffers, values, accumulators, variables, extents, checks, nests, lane_loops, range,
                 numbers, scratch_bytes, relaxed_math, bounds_checked] = kernel;
    add(name), add(buffers), add(values), add(accumulators), add(variables), add(extents);
    add(checks.size());  // what they say when they fail is not in the code
    add(nests), add(lane_loops), add(range), add(numbers), add(scratch_bytes), add(relaxed_math);
    add(bounds_checked);
  }

 private:
  template <class T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) void add(T value) { out_.add(value); }
  void add(const std::string& text) { out_.add(text); }
  template <class T>
  void add(const std::vector<T>& items) {
    add(items.size());
    for (const T& item : items) add(item);
  }
  template <class T>
  void add(const std::optional<T>& item) {
    add(item.has_value());
    if (item) add(*item);
  }
  template <class T>
  void add(const std::shared_ptr<T>& item) {
    add(*item);
  }
  template <class... T>
  void add(const std::variant<T...>& item) {
    add(item.index());
    std::visit([&](const auto& one) { add(one); }, item);
  }

  void add(const TensorType& type) {
    const auto& [dtype, shape] = type;
    add(dtype), add(shape);
  }
  void add(const Tensor& tensor) {
    add(tensor.type());
    out_.add(std::string_view(reinterpret_cast<const char*>(tensor.data()), tensor.byte_size()));
  }
  void add(const Buffer& buffer) {
    const auto& [name, type, role, strides, first_stride_slot, scratch_offset, aligned] = buffer;
    add(name), add(type), add(role), add(strides), add(first_stride_slot), add(scratch_offset), add(aligned);
  }
  void add(const Accumulator& accumulator) {
    const auto& [op, dtype, lanes, across_lanes, cascade, position, parts, parts_before, each] = accumulator;
    add(op), add(dtype), add(lanes), add(across_lanes), add(cascade), add(position), add(parts);
    add(parts_before), add(each);
  }
  void add(const SweptRange& range) {
    const auto& [first, end, first_unit, end_unit] = range;
    add(first), add(end), add(first_unit), add(end_unit);
  }

  void add(const Index& index) {
    const auto& [constant, terms] = index;
    add(constant), add(terms);
  }
  void add(const IndexTerm& term) {
    const auto& [coefficient, atom] = term;
    add(coefficient), add(atom);
  }
  void add(const Quotient& quotient) {
    const auto& [numerator, divisor] = quotient;
    add(numerator), add(divisor);
  }
  void add(const Remainder& remainder) {
    const auto& [numerator, divisor] = remainder;
    add(numerator), add(divisor);
  }
  void add(const Scaled& scaled) {
    const auto& [factor, index] = scaled;
    add(factor), add(index);
  }
  void add(const Condition& condition) {
    const auto& [index, low, high] = condition;
    add(index), add(low), add(high);
  }
  void add(const Count& count) {
    const auto& [extent, bound] = count;
    add(extent), add(bound);
  }

  void add(const Nest& nest) {
    const auto& [root, task_cost] = nest;
    add(root);
    (void)task_cost;  // decides how tasks are shared, not what they do
  }
  void add(const Loop& loop) {
    const auto& [var, kind, extent, lanes, bound, ordered, body] = loop;
    add(var), add(kind), add(extent), add(lanes), add(bound), add(ordered), add(body);
  }
  void add(const Branch& branch) {
    const auto& [guard, body, otherwise] = branch;
    add(guard), add(body), add(otherwise);
  }
  void add(const Literal& s) {
    const auto& [result, value, bits] = s;
    add(result), add(value), add(bits);
  }
  void add(const IndexValue& s) {
    const auto& [result, index] = s;
    add(result), add(index);
  }
  void add(const Test& s) {
    const auto& [result, guard] = s;
    add(result), add(guard);
  }
  void add(const Load& s) {
    const auto& [result, buffer, index, guard] = s;
    add(result), add(buffer), add(index), add(guard);
  }
  void add(const Compute& s) {
    const auto& [result, op, operands] = s;
    add(result), add(op), add(operands);
  }
  void add(const Store& s) {
    const auto& [buffer, index, value, non_temporal, mask] = s;
    add(buffer), add(index), add(value), add(non_temporal), add(mask);
  }
  void add(const Prefetch& s) {
    const auto& [buffer, index, to_first] = s;
    add(buffer), add(index), add(to_first);
  }
  void add(const TransposeTile& s) {
    const auto& [matrix, index, distance, tile, to_matrix, rows, columns] = s;
    add(matrix), add(index), add(distance), add(tile), add(to_matrix), add(rows), add(columns);
  }
  void add(const Declare& s) {
    const auto& [accumulator] = s;
    add(accumulator);
  }
  void add(const Accumulate& s) {
    const auto& [accumulator, value, position, running] = s;
    add(accumulator), add(value), add(position), add(running);
  }
  void add(const Merge& s) {
    const auto& [into, from] = s;
    add(into), add(from);
  }
  void add(const Read& s) {
    const auto& [result, accumulator] = s;
    add(result), add(accumulator);
  }
  void add(const Spill& s) {
    const auto& [accumulator, buffer, slot] = s;
    add(accumulator), add(buffer), add(slot);
  }
  void add(const Unspill& s) {
    const auto& [accumulator, buffer, slot] = s;
    add(accumulator), add(buffer), add(slot);
  }
  void add(const CheckRange& s) {
    const auto& [value, extent, check] = s;
    add(value), add(extent), add(check);
  }

  Fingerprint& out_;
};

/// What holds for all code of this process. Empty without a build id.
std::string fingerprint_of_build() {
  const std::string ours = build_id_of(reinterpret_cast<const void*>(&fingerprint_of_build));
  if (ours.empty()) return {};
  Fingerprint all;
  all.add(ours);
  all.add(build_id_of(reinterpret_cast<const void*>(&llvm::outs))).add(llvm_version());
  for (int part = 0; part < kParts; ++part)
    all.add(static_cast<Part>(part) == Part::disk_cache || is_enabled(static_cast<Part>(part)));
  all.add(llvm::sys::getProcessTriple());
  all.add(llvm::sys::getHostCPUName());
  all.add(target_features(cpu_named("native")));
  return all.bytes();
}

void add_cpu(Fingerprint& out, const Cpu& cpu) {
  const auto& [name, vector_bytes, fma, f16c, avx512, avx512_bf16, amx_bf16, runs_here, l1_bytes, l2_bytes,
               l3_bytes] = cpu;
  out.add(name)
      .add(vector_bytes)
      .add(fma)
      .add(f16c)
      .add(avx512)
      .add(avx512_bf16)
      .add(amx_bf16)
      .add(runs_here);
  out.add(l1_bytes).add(l2_bytes).add(l3_bytes);
}

/// The key of what `add` adds, for this build and a processor.
template <class Add>
std::optional<Digest> key_of(const Cpu& cpu, Add add) {
  static const std::string build = fingerprint_of_build();
  if (build.empty()) return std::nullopt;
  Fingerprint all;
  all.add(build);
  add_cpu(all, cpu);
  add(all);
  return all.digest();
}

}  // namespace

std::string fingerprint_of(const LoopKernel& kernel) {
  Fingerprint all;
  LoopFingerprint(all).add(kernel);
  return all.bytes();
}

std::optional<Digest> object_key(const LoopKernel& kernel, const Cpu& cpu) {
  return key_of(cpu, [&](Fingerprint& all) { LoopFingerprint(all).add(kernel); });
}

std::optional<Digest> object_key(std::string_view name, const Cpu& cpu) {
  return key_of(cpu, [&](Fingerprint& all) { all.add(name); });
}

}  // namespace tokamak::codegen
