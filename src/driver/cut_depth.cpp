#include "driver/cut_depth.h"

#include <algorithm>
#include <bit>

#include "support/rounding.h"

namespace tokamak {
namespace {

class Cutting {
 public:
  Cutting(CompiledProduct& product, bool sums_fit_result, const Cpu& cpu)
      : product_(product), stage_(product.stages.back()), sums_fit_result_(sums_fit_result), cpu_(cpu) {}

  void run() {
    auto can_be_cut = [](const CompiledOperand& operand) { return operand.read.contracted.size() == 1; };
    if (product_.stages.size() != 1 || !can_be_cut(stage_.lhs) || !can_be_cut(stage_.rhs) ||
        stage_.lhs.is_constant || stage_.rhs.windows || stage_.method->reads_in_place())
      return;
    const bool is_packed = stage_.lhs.ahead && stage_.rhs.ahead && !stage_.rhs.is_constant;
    const bool is_made = stage_.lhs.maker != nullptr || stage_.rhs.maker != nullptr;
    const ProductShape shape{product_.batch, product_.rows, stage_.columns, stage_.depth};
    const bool is_deep = is_much_deeper_than_wide(shape, product_.mirrored_rows != 0);
    if (stage_.only_stores && is_deep && !stage_.rhs.is_constant) {
      if (makes_only_steps(stage_.lhs) && makes_only_steps(stage_.rhs)) choose_chunks();
    } else if (stage_.only_stores && is_packed) {
      if (!is_made) choose_parts();
    } else if (sums_fit_result_ && !is_made) {
      choose_parts_of_rows();
    }
  }

 private:
  static bool makes_only_steps(const CompiledOperand& operand) {
    return operand.maker == nullptr || operand.maker->is_of_steps();
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
    for (CompiledOperand* operand : {&stage_.lhs, &stage_.rhs}) {
      operand->ahead = operand->in_rows = false;
      if (operand->maker == nullptr) continue;
      auto maker = std::make_shared<CompiledMaker>(*operand->maker);
      maker->rows_at_once = product_.part_depth;
      operand->maker = std::move(maker);
    }
    product_.block_rows = product_.rows;
    product_.block_columns = stage_.columns;
  }

  void choose_parts() {
    constexpr int64_t kPart = 1024;
    const int64_t step_bytes = (product_.batch * (stage_.lhs.lines + stage_.rhs.lines)) *
                               static_cast<int64_t>(size_of(stage_.sums));  // of k
    if (step_bytes * stage_.depth <= cpu_.l3_bytes || step_bytes * kPart > cpu_.l3_bytes / 2) return;
    auto method = method_for(kPart);
    if (method->a_panel() != stage_.method->a_panel()) return;
    stage_.method = std::move(method);
    product_.part_depth = kPart;
  }

  /// All rows are packed ahead, columns with each block or when compiled: as many steps of both as are summed
  /// at once, so that the sums are the same.
  void choose_parts_of_rows() {
    const int64_t part = stage_.method->steps_at_once();
    const int64_t packed = product_.rows * stage_.depth * static_cast<int64_t>(size_of(stage_.sums));
    if (part == 0 || stage_.depth < 2 * part || packed <= cpu_.l2_bytes || product_.batch != 1 ||
        product_.block_rows < product_.rows || !stage_.lhs.ahead ||
        (stage_.rhs.ahead && !stage_.rhs.is_constant))
      return;
    auto method = method_for(part);
    if (method->a_panel() != stage_.method->a_panel() || method->steps_at_once() != part) return;
    stage_.method = std::move(method);
    product_.part_depth = part;
    stage_.sums_in_result = !stage_.only_stores;
  }

  std::unique_ptr<const ProductMethod> method_for(int64_t depth) const {
    const bool packs = stage_.lhs.maker != nullptr || stage_.rhs.maker != nullptr;
    return choose_product_method(stage_.type, product_.rows, stage_.columns, depth, packs, cpu_);
  }

  CompiledProduct& product_;
  CompiledStage& stage_;
  const bool sums_fit_result_;
  const Cpu& cpu_;
};

}  // namespace

void cut_depth(CompiledProduct& product, bool sums_fit_result, const Cpu& cpu) {
  Cutting(product, sums_fit_result, cpu).run();
}

}  // namespace tokamak
