// Kernels written by hand that would leave their buffers.

#include "codegen/access_report.h"
#include "codegen/harness.h"

namespace tokamak {
namespace {

class CodegenBounds : public OnEveryCpu {
 protected:
  /// The first access that is reported when the buffers have just so much memory (in bytes; scratch has
  /// none here). Buffers lie in the middle of other memory, in which nothing may change.
  std::optional<FailedAccess> run_in(LoopKernel kernel, const std::vector<int64_t>& bytes) {
    constexpr size_t kAround = 4096;
    constexpr std::byte kInside{1}, kOutside{2};
    kernel.bounds_checked = true;
    emit_llvm(kernel, cpu);
    const auto native = compile(kernel, cpu);
    std::vector<std::vector<std::byte>> memory;
    std::vector<void*> buffers;
    std::vector<BufferExtent> extents;
    for (const int64_t size : bytes) {
      memory.emplace_back(static_cast<size_t>(size) + 2 * kAround, kOutside);
      std::byte* first = memory.back().data() + kAround;
      std::fill_n(first, size, kInside);
      buffers.push_back(first);
      extents.push_back({first, first + size});
    }
    std::vector<std::byte> scratch(static_cast<size_t>(kernel.scratch_bytes) + kAround);
    int32_t failed = 0;
    AccessReport report;
    KernelFrame frame{buffers.data(), nullptr, &failed};
    frame.extents = extents.data();
    frame.report = &report;
    for (size_t i = 0; i < kernel.nests.size() && failed == 0; ++i)
      native->nests()[i](&frame, 0, kernel.nests[i].root.extent, scratch.data());
    for (size_t i = 0; i < memory.size(); ++i) {
      auto is_untouched = [](std::byte b) { return b == kOutside; };
      EXPECT_TRUE(std::all_of(memory[i].begin(), memory[i].begin() + kAround, is_untouched)) << i;
      EXPECT_TRUE(std::all_of(memory[i].end() - kAround, memory[i].end(), is_untouched)) << i;
    }
    EXPECT_EQ(failed, report.first() ? kFailedAccess : 0);
    return report.first();
  }

  static void expect_access(const std::optional<FailedAccess>& found, BufferId buffer, bool writes,
                            const std::vector<int64_t>& index, int64_t offset) {
    ASSERT_TRUE(found);
    EXPECT_EQ(found->buffer, buffer);
    EXPECT_EQ(found->writes, writes);
    EXPECT_EQ(found->index, index);
    EXPECT_EQ(found->offset, offset);
  }
};
ON_EVERY_CPU(CodegenBounds);

/// to[to_index] = from[from_index] for i in 0..100, in lanes.
struct Copy : TestKernel {
  LoopVar t = var("t", 1), i = var("i", 100);
  BufferId from = in(DType::f32, {100}), to = out(DType::f32, {100});

  Copy(const Index& from_index, const Index& to_index, int lanes, const Guard& guard = {}) {
    const ValueId x = value(DType::f32);
    nest(t, {vector(i, lanes, {Load{x, from, {from_index}, guard}, Store{to, {to_index}, x}})});
  }
  static Index each() { return Index::of(LoopVar(1)); }
};

TEST_P(CodegenBounds, RightKernelsRunAsTheyAre) {
  for (int lanes : {1, 8, 16}) {
    EXPECT_FALSE(run_in(Copy(Copy::each(), Copy::each(), lanes), {400, 400}));
    EXPECT_FALSE(run_in(Copy(Index(99) - Copy::each(), Copy::each(), lanes), {400, 400}));
    EXPECT_FALSE(run_in(Copy(Copy::each() * 2, Copy::each() * 3, lanes), {796, 1192}));
    const Index shifted = Copy::each() - Index(7);
    EXPECT_FALSE(run_in(Copy(shifted, Copy::each(), lanes, {{shifted, 0, 50}}), {200, 400}));
  }
}

TEST_P(CodegenBounds, NeighboursBehindTheEnd) {
  for (int lanes : {1, 8, 16}) {
    const Copy k(Copy::each(), Copy::each(), lanes);
    expect_access(run_in(k, {399, 400}), k.from, false, {99}, 396);
    expect_access(run_in(k, {4 * 37, 400}), k.from, false, {37}, 4 * 37);
    expect_access(run_in(k, {400, 4 * 98}), k.to, true, {98}, 4 * 98);
    const Copy before(Copy::each() - Index(2), Copy::each(), lanes);
    expect_access(run_in(before, {400, 400}), before.from, false, {-2}, -8);
  }
}

TEST_P(CodegenBounds, StridedAndReversed) {
  for (int lanes : {1, 8, 16}) {
    const Copy strided(Copy::each(), Copy::each() * 2, lanes);
    expect_access(run_in(strided, {400, 400}), strided.to, true, {100}, 400);
    const Copy reversed(Index(98) - Copy::each(), Copy::each(), lanes);
    expect_access(run_in(reversed, {400, 400}), reversed.from, false, {-1}, -4);
    const Copy backwards(Copy::each(), Index(60) - Copy::each(), lanes);
    expect_access(run_in(backwards, {400, 400}), backwards.to, true, {-1}, -4);
  }
}

TEST_P(CodegenBounds, OneElementForAllLanes) {
  for (int lanes : {1, 8}) {
    const Copy k(Index(100), Copy::each(), lanes);
    expect_access(run_in(k, {400, 400}), k.from, false, {100}, 400);
    EXPECT_FALSE(run_in(Copy(Index(100), Copy::each(), lanes, {{Copy::each(), 200, 300}}), {400, 400}));
    const Copy last(Copy::each(), Index(-1), lanes);
    expect_access(run_in(last, {400, 400}), last.to, true, {-1}, -4);
  }
}

TEST_P(CodegenBounds, GuardsThatAreTooWide) {
  const Index shifted = Copy::each() - Index(3);
  for (int lanes : {1, 8, 16}) {
    const Copy k(shifted, Copy::each(), lanes, {{shifted, -1, 50}});
    expect_access(run_in(k, {200, 400}), k.from, false, {-1}, -4);
  }
}

TEST_P(CodegenBounds, GathersAndScatters) {
  // to[which[i]] = from[which[i]]
  TestKernel k;
  const LoopVar t = k.var("t", 1), i = k.var("i", 20);
  const BufferId which = k.in(DType::u8, {20});
  const BufferId from = k.in(DType::f64, {10});
  const BufferId to = k.out(DType::f64, {10});
  const ValueId w = k.value(DType::u8), x = k.value(DType::f64);
  k.nest(t, {k.vector(i, 8,
                      {Load{w, which, {Index::of(i)}, {}}, Load{x, from, {Index::of(w)}, {}},
                       Store{to, {Index::of(w)}, x}})});
  EXPECT_FALSE(run_in(k, {20, 80, 80}));  // every byte of them is 1, and so is every index
  expect_access(run_in(k, {20, 8, 80}), from, false, {1}, 8);
  expect_access(run_in(k, {20, 80, 15}), to, true, {1}, 8);
}

TEST_P(CodegenBounds, ScratchAndSpilledAccumulators) {
  TestKernel k;
  const LoopVar t = k.var("t", 1), i = k.var("i", 16);
  const BufferId in = k.in(DType::f32, {16});
  const BufferId scratch = k.buffer(DType::f32, {15}, Buffer::Role::scratch);
  k.scratch_bytes = 64;
  const ValueId x = k.value(DType::f32);
  k.nest(t, {k.vector(i, 8, {Load{x, in, {Index::of(i)}, {}}, Store{scratch, {Index::of(i)}, x}})});
  expect_access(run_in(k, {64, 0}), scratch, true, {15}, 60);

  TestKernel sum;
  const LoopVar part = sum.var("part", 3), j = sum.var("j", 8);
  const BufferId numbers = sum.in(DType::f32, {24});
  const BufferId parts = sum.buffer(DType::f32, {3}, Buffer::Role::partial);
  const AccumulatorId total = sum.accumulator({.op = Op::reduce_sum, .dtype = DType::f32});
  const ValueId y = sum.value(DType::f32);
  sum.nest(part, {Declare{total},
                  sum.serial(j, {Load{y, numbers, {Index::of(part) * 8 + Index::of(j)}, {}},
                                 Accumulate{total, y, {}, {}}}),
                  Spill{total, parts, Index::of(part)}});
  EXPECT_FALSE(run_in(sum, {96, 12}));
  expect_access(run_in(sum, {96, 8}), parts, true, {2}, 8);
}

TEST_P(CodegenBounds, TransposedTiles) {
  TestKernel k;
  const LoopVar t = k.var("t", 2);
  const BufferId matrix = k.in(DType::f32, {8, 8});
  const BufferId tile = k.buffer(DType::f32, {8, 4}, Buffer::Role::scratch);
  k.scratch_bytes = 8 * 4 * 4;
  k.nest(t, {TransposeTile{.matrix = matrix,
                           .index = {Index::of(t) * 4, Index(0)},
                           .distance = 32,
                           .tile = tile,
                           .to_matrix = false,
                           .rows = {4, std::nullopt},
                           .columns = {8, std::nullopt}}});
  EXPECT_FALSE(run_in(k, {256, 0}));
  expect_access(run_in(k, {255, 0}), matrix, false, {4, 0}, 128);
}

TEST(Bounds, AreNotInOrdinaryCode) {
  const Copy k(Copy::each(), Copy::each(), 8);
  EXPECT_EQ(emit_llvm(k, cpu_named("native")).find(codegen::kReportAccess), std::string::npos);
}

}  // namespace
}  // namespace tokamak
