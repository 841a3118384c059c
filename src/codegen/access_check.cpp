#include "codegen/access_check.h"

#include <llvm/IR/MDBuilder.h>

#include "codegen/codegen.h"
#include "ir/layout.h"

namespace tokamak::codegen {
namespace {

using llvm::Value;

Value* number(FunctionState& f, int64_t value) { return f.b.getInt64(static_cast<uint64_t>(value)); }

Value* as_number(FunctionState& f, Value* pointer) {
  return f.b.CreatePtrToInt(pointer, with_lanes(f.b.getInt64Ty(), lanes_of(pointer)));
}

/// An address of KernelFrame::extents.
Value* extent_field(FunctionState& f, BufferId id, size_t offset, const std::string& key) {
  return f.at_depth(0, key + std::to_string(static_cast<uint32_t>(id)), [&] {
    Value* field =
        f.b.CreateConstGEP1_64(f.b.getInt8Ty(), f.function->getArg(0), offsetof(KernelFrame, extents));
    Value* extents =
        f.at_depth(0, "extents", [&] { return f.b.CreateLoad(f.b.getPtrTy(), field, "extents"); });
    Value* place = f.b.CreateConstGEP1_64(f.b.getInt8Ty(), extents,
                                          static_cast<uint64_t>(id) * sizeof(BufferExtent) + offset);
    return f.b.CreateLoad(f.b.getInt64Ty(), place, key);
  });
}

/// The first byte of a buffer's memory and the first behind it, as numbers.
struct Extent {
  Value* begin;
  Value* end;
};

Extent extent_of(FunctionState& f, BufferId id) {
  const Buffer& buffer = f.kernel[id];
  if (buffer.role == Buffer::Role::scratch) {
    Value* begin = as_number(f, emit_base(f, id));
    const int64_t bytes = byte_range(buffer.type, buffer.strides.data()).end;
    return {begin, f.b.CreateAdd(begin, number(f, bytes))};
  }
  return {extent_field(f, id, offsetof(BufferExtent, begin), "begin"),
          extent_field(f, id, offsetof(BufferExtent, end), "end")};
}

Value* bytes_between_lanes(FunctionState& f, const Address& address, int64_t size) {
  switch (address.pattern) {
    case Address::Pattern::contiguous:
      return number(f, size);
    case Address::Pattern::reversed:
      return number(f, -size);
    case Address::Pattern::strided:
      return address.step;
    case Address::Pattern::uniform:
    case Address::Pattern::irregular:
      break;
  }
  throw InternalError("these lanes have no step");
}

/// Where each lane's element lies, as numbers; one for all where that is the same.
Value* lane_addresses(FunctionState& f, const Address& address, int64_t size) {
  Value* first = as_number(f, address.first);
  if (address.pattern == Address::Pattern::uniform) return first;
  Value* offsets = address.offsets;
  if (offsets == nullptr) {
    llvm::SmallVector<llvm::Constant*, 64> lanes;
    for (unsigned lane = 0; lane < f.width; ++lane) lanes.push_back(f.b.getInt64(lane));
    Value* step = f.lanes.spread(bytes_between_lanes(f, address, size), f.width);
    offsets = f.b.CreateMul(llvm::ConstantVector::get(lanes), step);
  }
  return f.b.CreateAdd(f.lanes.spread(first, f.width), offsets);
}

/// Whether `bytes` at each address are not all inside.
Value* is_outside(FunctionState& f, const Extent& extent, Value* addresses, Value* bytes) {
  const unsigned lanes = lanes_of(addresses);
  auto in_lanes = [&](Value* value) { return f.lanes.spread(value, lanes); };
  Value* ends = f.b.CreateAdd(addresses, in_lanes(bytes));
  return f.b.CreateOr(f.b.CreateICmpSLT(addresses, in_lanes(extent.begin)),
                      f.b.CreateICmpSGT(ends, in_lanes(extent.end)));
}

Value* in_lane(FunctionState& f, Value* value, Value* lane) {
  return is_vector(value) ? f.b.CreateExtractElement(value, lane) : value;
}

void report(FunctionState& f, const Access& access, const Extent& extent, Value* outside, Value* addresses) {
  Builder& b = f.b;
  Value* lane = b.getInt64(0);
  if (is_vector(outside)) {
    llvm::Type* bits = b.getIntNTy(lanes_of(outside));
    Value* first =
        b.CreateIntrinsic(bits, llvm::Intrinsic::cttz, {b.CreateBitCast(outside, bits), b.getTrue()});
    lane = b.CreateZExtOrTrunc(first, b.getInt64Ty());
  }
  llvm::AllocaInst* index = f.reported_index();
  for (size_t axis = 0; axis < access.index.size(); ++axis) {
    Value* one = b.CreateSExt(in_lane(f, emit_index(f, access.index[axis]), lane), b.getInt64Ty());
    b.CreateStore(one, b.CreateConstGEP1_64(b.getInt64Ty(), index, axis));
  }
  Value* offset = b.CreateSub(in_lane(f, addresses, lane), extent.begin);
  b.CreateCall(f.code.report_access(),
               {f.function->getArg(0), b.getInt32(static_cast<uint32_t>(access.buffer)),
                b.getInt32(access.writes ? 1 : 0), offset, b.CreateSub(extent.end, extent.begin), index,
                b.getInt64(access.index.size())});
  b.CreateRetVoid();
}

/// Goes on only where no lane is outside.
void stop_where(FunctionState& f, const Access& access, const Extent& extent, Value* outside,
                Value* addresses) {
  llvm::BasicBlock* failed = f.new_block("outside");
  llvm::BasicBlock* after = f.new_block("inside");
  f.b.CreateCondBr(f.lanes.any(outside), failed, after,
                   llvm::MDBuilder(*f.code.context).createUnlikelyBranchWeights());
  f.b.SetInsertPoint(failed);
  report(f, access, extent, outside, addresses);
  f.b.SetInsertPoint(after);
}

}  // namespace

void check_lanes(FunctionState& f, const Access& access, const Address& address, Value* condition) {
  if (!f.kernel.bounds_checked) return;
  const auto size = static_cast<int64_t>(size_of(f.kernel[access.buffer].type.dtype));
  Value* addresses = lane_addresses(f, address, size);
  Value* wanted = condition;
  if (is_vector(addresses) || (condition != nullptr && is_vector(condition)))
    wanted = f.lanes.both(f.lanes.active_mask(f.width, 64), condition);
  if (wanted != nullptr && !is_vector(addresses)) wanted = f.lanes.any(wanted);
  const Extent extent = extent_of(f, access.buffer);
  Value* outside = is_outside(f, extent, addresses, number(f, size));
  stop_where(f, access, extent, f.lanes.both(outside, wanted), addresses);
}

void check_bytes(FunctionState& f, const Access& access, Value* first, Value* bytes) {
  if (!f.kernel.bounds_checked) return;
  Value* address = as_number(f, first);
  const Extent extent = extent_of(f, access.buffer);
  Value* outside = is_outside(f, extent, address, bytes);
  stop_where(f, access, extent, f.b.CreateAnd(outside, f.b.CreateICmpSGT(bytes, number(f, 0))), address);
}

}  // namespace tokamak::codegen
