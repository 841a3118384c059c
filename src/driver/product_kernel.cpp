#include "driver/product_kernel.h"

#include <algorithm>
#include <numeric>

#include "driver/cut_depth.h"
#include "driver/operand_layout.h"
#include "driver/operand_windows.h"
#include "driver/product_blocks.h"
#include "fusion/hidden.h"
#include "loops/walk.h"
#include "runtime/thread_pool.h"
#include "schedule/schedule.h"
#include "support/parts.h"
#include "support/rounding.h"
#include "support/verification.h"

namespace tokamak {
namespace {

/// The result of a product as its epilogue sees it: one block, wherever in the result it is.
Layout block_layout() {
  return {.dense = false, .axes = {Layout::Axis::zero, Layout::Axis::other, Layout::Axis::unit}};
}

/// Whether the loops of a row load each element of the product before they store one of `output`, which has
/// columns, in the same one. `stored`: whether they have stored any.
bool loads_before_it_stores(const std::vector<Stmt>& body, BufferId output, bool& stored) {
  constexpr BufferId kProduct{0};
  auto is_store = [&](const Stmt& stmt) {
    const auto* store = std::get_if<Store>(&stmt);
    return store != nullptr && store->buffer == output;
  };
  const auto own = std::find_if(body.begin(), body.end(), is_store);
  for (const Stmt& stmt : body) {
    if (as_branch(stmt) != nullptr) return false;
    if (const Loop* loop = as_loop(stmt)) {
      if (!loads_before_it_stores(loop->body, output, stored)) return false;
      continue;
    }
    const auto* load = std::get_if<Load>(&stmt);
    const bool loads = load != nullptr && load->buffer == kProduct;
    if ((loads || is_store(stmt)) && stored) return false;
    if (loads && own != body.end()) {
      const std::vector<Index>& place = std::get<Store>(*own).index;
      if (place.empty() || load->index.back() != place.back()) return false;
    }
    if (is_store(stmt)) stored = true;
  }
  return true;
}

class Compilation {
 public:
  Compilation(const FusedKernel& kernel, const std::vector<std::vector<Layout>>& layouts, CodeOptions code,
              bool own_outputs, const Cpu& cpu)
      : kernel_(kernel),
        layouts_(layouts),
        code_(code),
        own_outputs_(own_outputs),
        cpu_(cpu),
        shape_(product_shape(kernel.body, *kernel.product)) {}

  CompiledProduct run() {
    result_.batch = shape_.batch;
    result_.rows = shape_.rows;
    const std::vector<const FusedKernel*> stages = stages_of(kernel_);
    CompiledStage stage = product_stage(kernel_);
    for (size_t i = 0; i + 1 < stages.size(); ++i)
      add_feeder(*stages[i], *stages[i + 1], i + 2 == stages.size() ? &stage : nullptr);
    const Epilogue epilogue = epilogue_of(kernel_);
    stage.only_stores = epilogue.only_stores;
    BlockChoice blocks(kernel_, result_, cpu_);
    blocks.choose(stage);
    if (!stage.only_stores) add_code(stage, epilogue, layouts_of(kernel_), true);
    blocks.align_columns(stage);
    result_.stages.push_back(std::move(stage));
    for (CompiledStage& one : result_.stages)
      blocks.decide_packing(one, &one == &result_.stages.back() ? result_.block_columns : one.columns);
    cut_depth(result_, sums_fit_result(result_.stages.back()), cpu_);
    for (const CompiledStage& one : result_.stages) describe(one);
    estimate();
    return std::move(result_);
  }

 private:
  const std::vector<Layout>& layouts_of(const FusedKernel& part) const {
    const std::vector<const FusedKernel*> parts = parts_of(kernel_);
    return layouts_.at(static_cast<size_t>(std::find(parts.begin(), parts.end(), &part) - parts.begin()));
  }

  /// Whether what the code of a stage makes of each sum may be stored where the sum is.
  bool sums_fit_result(const CompiledStage& stage) const {
    if (stage.only_stores) return true;
    const LoopKernel& loops = *stage.row_code.loops;
    const auto output = static_cast<BufferId>(1 + stage.inputs.size());
    bool stored = false;
    return own_outputs_ && !code_.bounds_checked && kernel_.outputs.size() == 1 && !kernel_.permuted[0] &&
           !kernel_.domain.has_sweep && loops[output].type.dtype == stage.sums &&
           loads_before_it_stores(loops.nests[0].root.body, output, stored) && stored;
  }

  /// `next` is what it makes rows for, which is `last` if that is not null.
  void add_feeder(const FusedKernel& feeder, const FusedKernel& next, const CompiledStage* last) {
    const std::vector<Layout>& layouts = layouts_of(feeder);
    const TensorType& type = next.body.type_of(next.body.parameters()[next.fed]);
    CompiledStage stage;
    if (feeder.product) {
      stage = product_stage(feeder);
      if (last != nullptr) find_mask(stage, *last);
      add_code(stage, epilogue_of(feeder), layouts, false);
      const auto fed = std::find(feeder.outputs.begin(), feeder.outputs.end(), next.inputs[next.fed]);
      const auto output =
          static_cast<BufferId>(1 + stage.inputs.size() + static_cast<size_t>(fed - feeder.outputs.begin()));
      bool stored = false;
      stage.over_sums = size_of(type.dtype) == size_of(stage.sums) &&
                        loads_before_it_stores(stage.row_code.loops->nests[0].root.body, output, stored) &&
                        stored;
    } else {
      stage.columns = type.elements() / (shape_.batch * shape_.rows);
      stage.inputs.resize(feeder.inputs.size());
      std::iota(stage.inputs.begin(), stage.inputs.end(), size_t{0});
      finish_code(stage, schedule_block_kernel(feeder, layouts, cpu_, INT64_MAX, true));
    }
    stage.result = type;
    result_.stages.push_back(std::move(stage));
  }

  /// Whether a mask hides columns of a stage, and its operands and those of the last let it skip them.
  void find_mask(CompiledStage& stage, const CompiledStage& last) const {
    if (!is_enabled(Part::skipping)) return;
    if (!stage.method->takes_part_of_k() || !last.method->takes_part_of_k()) return;
    if (stage.rhs.is_constant || last.rhs.is_constant || last.rhs.windows || stage.rhs.windows) return;
    const std::optional<HiddenScores> hidden = find_hidden_scores(kernel_);
    if (!hidden) return;
    stage.bounded = hidden->factor.has_value();
    stage.masked = !stage.bounded || !(stage.lhs.is_fed || stage.lhs.is_constant);
  }

  CompiledStage product_stage(const FusedKernel& kernel) {
    const ProductShape shape = product_shape(kernel.body, *kernel.product);
    CompiledStage stage;
    stage.columns = shape.columns;
    stage.depth = shape.depth;
    stage.sums = product_dtype(kernel.body[*kernel.product].type.dtype);
    stage.type = product_type(stage.sums);
    stage.lhs = operand(kernel, 0, shape.rows, shape.batch);
    stage.lhs.is_fed = kernel.feeder != nullptr;
    stage.rhs = operand(kernel, 1, shape.columns, shape.batch);
    auto are_neighbours_of = [&](const CompiledOperand& operand, const std::vector<OperandRead::Axis>& axes) {
      return is_matrix(operand, dtype_of(stage.type)) &&
             are_neighbours(axes, kernel.body.type_of(operand.read.array), layouts_of(kernel)[operand.input]);
    };
    const bool is_alone =
        &kernel == &kernel_ && kernel.feeder == nullptr && kernel.makers.empty() && !kernel.domain.has_sweep;
    if (is_alone && is_own_batch(stage.lhs) && is_own_batch(stage.rhs) && is_matrix(stage.lhs, stage.sums) &&
        are_neighbours_of(stage.rhs, stage.rhs.read.lines))
      stage.method = choose_small_method(stage.type, shape.rows, shape.columns, shape.depth, cpu_);
    if (stage.method == nullptr) {
      if (stays_bf16(stage, shape, kernel.makers)) stage.type = ProductType::bf16;
      choose_method(stage, shape, kernel.makers);
    }
    for (const FusedKernel::Maker& maker : kernel.makers) add_maker(stage, maker);
    stage.rhs.in_columns = are_neighbours_of(stage.rhs, stage.rhs.read.lines);
    stage.lhs.in_rows = !stage.lhs.is_fed && !stage.lhs.is_constant && stage.lhs.maker == nullptr &&
                        stage.method->takes_rows() && are_neighbours_of(stage.lhs, stage.lhs.read.contracted);
    return stage;
  }

  /// Whether an operand is another for every element of a batch, and none that could be packed once for all.
  bool is_own_batch(const CompiledOperand& operand) const {
    return operand.copies == shape_.batch && !operand.is_constant;
  }

  void add_maker(CompiledStage& stage, const FusedKernel::Maker& maker) {
    const bool is_lhs = maker.made == stage.lhs.input;
    CompiledOperand& operand = is_lhs ? stage.lhs : stage.rhs;
    const int64_t columns = maker.rows_are_lines ? stage.depth : operand.lines;
    auto made = std::make_shared<CompiledMaker>();
    made->rows = maker.rows_are_lines ? operand.lines : stage.depth;
    BlockKernel block =
        schedule_block_kernel(*maker.kernel, layouts_of(*maker.kernel), cpu_, INT64_MAX, true);
    result_.decisions += block.scheduled.decisions;
    made->code = compile_rows(std::move(block), operand.copies * made->rows, columns, code_, cpu_);
    made->rows_are_lines = maker.rows_are_lines;
    made->row_bytes = columns * static_cast<int64_t>(size_of(operand.dtype));
    const int64_t panel = is_lhs ? stage.method->a_panel() : stage.method->b_panel();
    made->rows_at_once =
        round_down(cpu_.l2_bytes / 4 / made->row_bytes, maker.rows_are_lines ? panel : int64_t{1});
    operand.maker = std::move(made);
  }

  /// Whether the processor multiplies operands as they are. Windows are read as f32, and so is a matrix that
  /// a single row is multiplied by; what is made step by step of k is not made in pairs of them.
  bool stays_bf16(const CompiledStage& stage, const ProductShape& shape,
                  const std::vector<FusedKernel::Maker>& makers) const {
    auto is_plain = [](const CompiledOperand& operand) {
      return operand.dtype == DType::bf16 && operand.read.contracted.size() <= 1;
    };
    return multiplies_bf16(cpu_) && shape.rows > 1 && is_plain(stage.lhs) && is_plain(stage.rhs) &&
           std::ranges::all_of(makers, &FusedKernel::Maker::rows_are_lines);
  }

  void choose_method(CompiledStage& stage, const ProductShape& shape,
                     const std::vector<FusedKernel::Maker>& makers) const {
    const ProductType type = stage.type;
    const bool is_read_as_it_is = stage.rhs.dtype == stage.sums && !stage.rhs.is_constant;
    const bool makes_lines = std::ranges::all_of(makers, &FusedKernel::Maker::rows_are_lines);
    const std::optional<WindowedPicture> picture = windowed_picture(stage.rhs.read);
    if (picture && is_read_as_it_is && !stage.lhs.is_fed && makes_lines && is_enabled(Part::winograd))
      stage.method = choose_window_method(type, shape.rows, *picture, shape.batch,
                                          stage.lhs.is_constant ? 0 : stage.lhs.copies, cpu_);
    stage.rhs.windows = stage.method != nullptr;
    if (stage.rhs.windows) return;
    // A row times constants reads them once, and fastest from panels: several at a time, each from end to
    // end.
    const bool packs = (stage.rhs.is_constant && stage.rhs.dtype == stage.sums) || !makers.empty();
    stage.method = choose_product_method(type, shape.rows, shape.columns, shape.depth, packs, cpu_);
    stage.rhs.windows = are_windows(stage.rhs.read, stage.method->window_unit());
  }

  static CompiledOperand operand(const FusedKernel& kernel, size_t which, int64_t lines, int64_t batch) {
    CompiledOperand made;
    made.read = read_of_operand(kernel.body, *kernel.product, which);
    made.dtype = kernel.body.type_of(made.read.array).dtype;
    const auto& parameters = kernel.body.parameters();
    made.input = static_cast<size_t>(std::find(parameters.begin(), parameters.end(), made.read.array) -
                                     parameters.begin());
    if (made.input == parameters.size())
      throw InternalError("products: an operand of " + kernel.name + " is not in memory");
    made.lines = lines;
    made.is_constant = kernel.constant[made.input];
    const bool varies =
        std::any_of(made.read.batch.begin(), made.read.batch.end(), [](const OperandRead::Axis& axis) {
          return axis.extent != 1 && std::any_of(axis.coefficients.begin(), axis.coefficients.end(),
                                                 [](int64_t coefficient) { return coefficient != 0; });
        });
    made.copies = varies ? batch : 1;
    return made;
  }

  void add_code(CompiledStage& stage, const Epilogue& epilogue, const std::vector<Layout>& all,
                bool is_last) {
    std::vector<Layout> layouts{block_layout()};
    for (size_t position : epilogue.positions) layouts.push_back(all[position]);
    stage.inputs = epilogue.positions;
    finish_code(stage, schedule_block_kernel(epilogue.kernel, layouts, cpu_,
                                             is_last ? result_.block_columns : INT64_MAX,
                                             own_outputs_ && is_last, stage.masked));
  }

  void finish_code(CompiledStage& stage, BlockKernel block) {
    result_.decisions += block.scheduled.decisions;
    stage.row_code = compile_rows(std::move(block), shape_.batch * shape_.rows, stage.columns, code_, cpu_);
  }

  void describe(const CompiledStage& stage) {
    std::string& text = result_.description;
    if (stage.method != nullptr) {
      text += "product " + std::to_string(shape_.rows) + "x" + std::to_string(stage.depth) + " by " +
              std::to_string(stage.depth) + "x" + std::to_string(stage.columns);
      if (shape_.batch != 1) text += ", " + std::to_string(shape_.batch) + " times";
      text += ": " + std::string(stage.method->name()) + "; first operand " +
              std::string(reading_of(stage, stage.lhs)) + ", second " +
              std::string(reading_of(stage, stage.rhs)) + "\n";
      for (const CompiledOperand* operand : {&stage.lhs, &stage.rhs}) {
        if (operand->maker != nullptr) text += print(*operand->maker->code.loops);
      }
      if (stage.masked) text += "columns that a mask hides from all rows of a block are skipped\n";
    }
    if (&stage == &result_.stages.back()) {
      text += "blocks of " + std::to_string(std::min(result_.block_rows, shape_.rows)) + " rows by " +
              std::to_string(result_.block_columns) + " columns";
      if (result_.slice_rows != 0) text += ", " + std::to_string(result_.slice_rows) + " rows at a time";
      text += "\n";
      if (stage.only_stores && kernel_.permuted[0]) text += "sums stored where the transpose has them\n";
      if (result_.part_depth != 0) text += "k in parts of " + std::to_string(result_.part_depth);
      if (result_.chunk_depth != 0)
        text += ", in chunks of " + std::to_string(result_.chunk_depth) + " that are added in the end";
      if (result_.part_depth != 0) text += "\n";
      if (result_.mirrored_rows != 0) text += "one half computed, the other mirrored\n";
    }
    if (stage.row_code.loops != nullptr) text += print(*stage.row_code.loops);
  }

  void estimate() {
    constexpr double kFlopsPerNanosecond = 50;
    for (const CompiledStage& stage : result_.stages) {
      const bool is_last = &stage == &result_.stages.back();
      const auto columns = static_cast<double>(is_last ? result_.block_columns : stage.columns);
      const auto rows = static_cast<double>(std::min(result_.block_rows, shape_.rows));
      result_.block_cost += 2 * rows * columns * static_cast<double>(stage.depth) / kFlopsPerNanosecond;
      if (stage.row_code.loops != nullptr) {
        const double share = columns / static_cast<double>(std::max<int64_t>(stage.columns, 1));
        result_.block_cost += rows * share * static_cast<double>(stage.row_code.tasks_per_row) *
                              stage.row_code.loops->nests[0].task_cost;
      }
    }
  }

  const FusedKernel& kernel_;
  const std::vector<std::vector<Layout>>& layouts_;
  const CodeOptions code_;
  const bool own_outputs_;
  const Cpu& cpu_;
  const ProductShape shape_;
  CompiledProduct result_;
};

}  // namespace

std::string_view reading_of(const CompiledStage& stage, const CompiledOperand& operand) {
  if (operand.is_fed) return "the rows made before";
  if (operand.maker != nullptr) return "made while it is packed";
  if (operand.in_rows) return "read in its rows";
  if (stage.method->reads_in_place()) return "read in place";
  if (operand.is_constant) return "packed when compiled";
  if (operand.ahead) return "packed ahead";
  if (operand.windows && stage.method->windows_at_once() != 0) return "windows transformed with each block";
  if (operand.windows) return "windows read where they overlap";
  return "packed with each block";
}

bool is_packed(const CompiledStage& stage, const CompiledOperand& operand) {
  return !operand.is_fed && !operand.in_rows && !stage.method->reads_in_place() && !operand.is_constant &&
         (operand.ahead || !operand.windows);
}

std::vector<RowCode> codes_of(const CompiledProduct& product) {
  std::vector<RowCode> codes;
  for (const CompiledStage& stage : product.stages) {
    for (const CompiledOperand* operand : {&stage.lhs, &stage.rhs}) {
      if (operand->maker != nullptr) codes.push_back(operand->maker->code);
    }
    if (stage.row_code.code != nullptr) codes.push_back(stage.row_code);
  }
  return codes;
}

CompiledProduct compile_product(const FusedKernel& kernel, const std::vector<std::vector<Layout>>& layouts,
                                CodeOptions code, bool own_outputs, const Cpu& cpu) {
  return Compilation(kernel, layouts, code, own_outputs, cpu).run();
}

}  // namespace tokamak
