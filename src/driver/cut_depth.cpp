#include "driver/cut_depth.h"

#include <algorithm>
#include <bit>

#include "support/rounding.h"

namespace tokamak {
namespace {

class Cutting {
 public:
  Cutting(CompiledProduct& product, const Cpu& cpu)
      : product_(product), stage_(product.stages.back()), cpu_(cpu) {}

  void run() {
    auto can_be_cut = [](const CompiledOperand& operand) {
      return !operand.is_constant && operand.maker == nullptr && operand.read.contracted.size() == 1;
    };
    if (product_.stages.size() != 1 || !can_be_cut(stage_.lhs) || !can_be_cut(stage_.rhs) ||
        stage_.rhs.windows || stage_.method->reads_in_place())
      return;
    is_much_deeper_than_wide() ? choose_chunks() : choose_parts();
  }

 private:
  /// Whether blocks of the result would be few and small, and the steps of k many.
  bool is_much_deeper_than_wide() const {
    constexpr int64_t kManyLines = 384;
    constexpr int64_t kDeep = 4096;
    const int64_t lines = std::max(product_.rows, stage_.columns);
    if (product_.batch != 1 || lines >= kManyLines) return false;
    if (product_.mirrored_rows != 0) return stage_.depth >= kDeep / 2 || lines < kManyLines / 2;
    return stage_.depth >= kDeep;
  }

  /// Of one size, as far as they divide k, and of parts of one size.
  void choose_chunks() {
    constexpr int64_t kPart = 512;
    constexpr int64_t kMostChunks = 16;
    const auto chunks = static_cast<int64_t>(
        std::bit_floor(static_cast<uint64_t>(std::clamp<int64_t>(stage_.depth / kPart, 2, kMostChunks))));
    const int64_t chunk = parts_of(stage_.depth, chunks);
    const int64_t parts = parts_of(chunk, kPart);
    product_.part_depth = round_up(parts_of(chunk, parts), 4);
    product_.chunk_depth = product_.part_depth * parts;
    stage_.method = method_for(product_.part_depth);
    for (CompiledOperand* operand : {&stage_.lhs, &stage_.rhs}) operand->ahead = operand->in_rows = false;
    product_.block_rows = product_.rows;
    product_.block_columns = stage_.columns;
  }

  void choose_parts() {
    constexpr int64_t kPart = 1024;
    const int64_t step_bytes = (product_.batch * (stage_.lhs.lines + stage_.rhs.lines)) *
                               static_cast<int64_t>(size_of(stage_.sums));  // of k
    if (!stage_.lhs.ahead || !stage_.rhs.ahead || step_bytes * stage_.depth <= cpu_.l3_bytes ||
        step_bytes * kPart > cpu_.l3_bytes / 2)
      return;
    auto method = method_for(kPart);
    if (method->a_panel() != stage_.method->a_panel()) return;
    stage_.method = std::move(method);
    product_.part_depth = kPart;
  }

  std::unique_ptr<const ProductMethod> method_for(int64_t depth) const {
    return choose_product_method(stage_.type, product_.rows, stage_.columns, depth, false, cpu_);
  }

  CompiledProduct& product_;
  CompiledStage& stage_;
  const Cpu& cpu_;
};

}  // namespace

void cut_depth(CompiledProduct& product, const Cpu& cpu) { Cutting(product, cpu).run(); }

}  // namespace tokamak
