#include "schedule/cost.h"

#include <algorithm>

#include "loops/walk.h"
#include "ops/record.h"

namespace tokamak {
namespace {

constexpr double kInstruction = 0.3;  ///< nanoseconds of one vector instruction
constexpr double kMemoryByte = 0.05;  ///< nanoseconds of one byte to or from memory
constexpr double kCacheByte = 0.01;   ///< of one byte of scratch

double statement_cost(const LoopKernel& kernel, const Stmt& stmt, int lanes, const Cpu& cpu) {
  if (const std::optional<Access> access = access_of(stmt)) {
    const Buffer& buffer = kernel[access->buffer];
    const double per_byte = buffer.role == Buffer::Role::scratch ? kCacheByte : kMemoryByte;
    return per_byte * lanes * static_cast<double>(size_of(buffer.type.dtype));
  }
  if (const auto* compute = std::get_if<Compute>(&stmt)) {
    const DType dtype = kernel[compute->operands.back()];
    const double registers =
        std::max(1.0, lanes * static_cast<double>(std::max<size_t>(size_of(dtype), 4)) / cpu.vector_bytes);
    return kInstruction * registers * scalar_cost(compute->op, dtype, kernel[compute->result]);
  }
  return kInstruction;
}

double body_cost(const LoopKernel& kernel, const std::vector<Stmt>& body, int lanes, const Cpu& cpu) {
  double cost = 0;
  for (const Stmt& stmt : body) {
    if (const Branch* branch = as_branch(stmt)) {
      cost += std::max(body_cost(kernel, branch->body, lanes, cpu),
                       body_cost(kernel, branch->otherwise, lanes, cpu));
      continue;
    }
    const Loop* inner = as_loop(stmt);
    if (inner == nullptr) {
      cost += statement_cost(kernel, stmt, lanes, cpu);
      continue;
    }
    const int inner_lanes = inner->kind == LoopKind::vector ? inner->lanes : lanes;
    const int64_t step = inner->kind == LoopKind::vector ? inner->lanes : 1;
    cost += static_cast<double>((inner->extent + step - 1) / step) *
            body_cost(kernel, inner->body, inner_lanes, cpu);
  }
  return cost;
}

}  // namespace

double task_cost(const LoopKernel& kernel, const Nest& nest, const Cpu& cpu) {
  return body_cost(kernel, nest.root.body, 1, cpu);
}

}  // namespace tokamak
