#include "driver/report_parts.h"

#include <algorithm>
#include <set>

#include "fusion/product.h"
#include "ir/text.h"
#include "ops/index_map.h"

namespace tokamak {
namespace {

std::vector<bool> needed_nodes(const Graph& graph) {
  std::vector<bool> needed(graph.size(), false);
  for (Value output : graph.outputs()) needed[index_of(output)] = true;
  for (size_t i = graph.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (Value input : graph.nodes()[i].inputs) needed[index_of(input)] = true;
  }
  return needed;
}

/// Collects them for the whole program, then kernel by kernel.
class LayoutReports {
 public:
  explicit LayoutReports(const Journey& journey)
      : journey_(journey), graph_(journey.optimized), names_(value_names(graph_)) {}

  std::vector<LayoutReport> run() {
    add_arguments();
    for (size_t i = 0; i < journey_.kernels.size(); ++i) {
      const FusedKernel& kernel = journey_.fusion.kernels[i];
      add_operands(static_cast<int>(i), kernel, *journey_.kernels[i]);
      add_results(static_cast<int>(i), kernel);
    }
    add_copies();
    return std::move(reports_);
  }

 private:
  void add(Value value, int kernel, std::string decision, int64_t bytes = 0) {
    reports_.push_back({names_[index_of(value)], kernel, std::move(decision), bytes});
  }

  void add_arguments() {
    for (size_t i = 0; i < journey_.layouts.size(); ++i) {
      const Layout& layout = journey_.layouts[i];
      if (!layout.dense)
        add(graph_.parameters()[i], -1,
            "read where it lies, with strides " + strides_text(layout) + " of an element");
    }
  }

  void add_operands(int number, const FusedKernel& kernel, const CompiledKernel& compiled) {
    if (compiled.product == nullptr) return;
    const std::vector<const FusedKernel*> stages = stages_of(kernel);
    for (size_t i = 0; i < stages.size(); ++i) {
      const CompiledStage& stage = compiled.product->stages[i];
      if (stage.method == nullptr) continue;
      for (const CompiledOperand* operand : {&stage.lhs, &stage.rhs}) {
        const int64_t bytes =
            operand->lines * stage.depth * operand->copies * static_cast<int64_t>(size_of(stage.sums));
        add(stages[i]->inputs[operand->input], number,
            (operand == &stage.lhs ? "first operand " : "second operand ") +
                std::string(reading_of(stage, *operand)),
            is_packed(stage, *operand) ? bytes : 0);
      }
    }
  }

  void add_results(int number, const FusedKernel& kernel) {
    const bool copies = op_names(kernel).empty();
    for (const FusedKernel* part : parts_of(kernel)) {
      for (size_t i = 0; i < part->outputs.size(); ++i) {
        const Value output = part->outputs[i];
        if (part->permuted[i])
          add(output, number, "transposed as it is stored");
        else if (copies)
          add(output, number, "copied", graph_.type_of(output).bytes());
      }
    }
  }

  void add_copies() {
    const Program& program = *journey_.assembled.program;
    for (const Program::Copy& copy : program.copies) {
      const Value output = graph_.outputs()[static_cast<size_t>(copy.output)];
      add(output, -1,
          "result " + std::to_string(copy.output) + " is a copy of result " + std::to_string(copy.source),
          graph_.type_of(output).bytes());
    }
    for (const WrittenInput& written : journey_.options.written) {
      const auto output = static_cast<size_t>(written.output);
      const std::string argument = names_[index_of(graph_.parameters()[static_cast<size_t>(written.input)])];
      const bool in_place = program.output_in_place[output];
      add(graph_.outputs()[output], -1,
          in_place ? "computed where " + argument + " lies" : "copied to " + argument + " at the end",
          in_place ? 0 : graph_.type_of(graph_.outputs()[output]).bytes());
    }
  }

  const Journey& journey_;
  const Graph& graph_;
  const std::vector<std::string> names_;
  std::vector<LayoutReport> reports_;
};

}  // namespace

std::vector<OperationReport> operations_of(const Graph& graph) {
  const std::vector<bool> needed = needed_nodes(graph);
  std::vector<PrintedValue> printed = print_values(graph, kForPeople);
  std::vector<OperationReport> operations;
  operations.reserve(graph.size());
  for (size_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.nodes()[i];
    OperationReport report;
    report.name = std::move(printed[i].name);
    report.op = name_of(node.op);
    report.text = std::move(printed[i].text);
    report.type = node.type;
    for (Value input : node.inputs) report.inputs.push_back(static_cast<int>(index_of(input)));
    if (node.op != Op::parameter) report.line = node.where;  // a parameter has the line of the call
    report.is_view = is_view(node.op);
    report.is_dead = !needed[i];
    operations.push_back(std::move(report));
  }
  for (Value output : graph.outputs()) operations[index_of(output)].is_output = true;
  return operations;
}

std::vector<OperationReport> fused_operations(const Graph& optimized,
                                              const std::vector<FusedKernel>& kernels) {
  std::vector<OperationReport> operations = operations_of(optimized);
  for (size_t i = 0; i < kernels.size(); ++i) {
    for (const FusedKernel* part : parts_of(kernels[i])) {
      for (Value member : part->members) {
        std::vector<int>& computing = operations[index_of(member)].kernels;
        if (computing.empty() || computing.back() != static_cast<int>(i))
          computing.push_back(static_cast<int>(i));
      }
    }
  }
  return operations;
}

std::vector<OperationReport> traced_operations(const Graph& traced, const Graph& optimized,
                                               const std::vector<OperationReport>& fused) {
  std::vector<OperationReport> operations = operations_of(traced);
  std::vector<std::set<int>> of_readers(operations.size());
  for (size_t i = operations.size(); i-- > 0;) {  // readers come after what they read
    OperationReport& report = operations[i];
    if (const std::optional<Value> successor = optimized.successor_of(static_cast<Value>(i))) {
      report.becomes = static_cast<int>(index_of(*successor));
      report.kernels = fused[index_of(*successor)].kernels;
    } else {
      report.kernels.assign(of_readers[i].begin(), of_readers[i].end());
    }
    for (int input : report.inputs) {
      if (!optimized.successor_of(static_cast<Value>(input)))
        of_readers[static_cast<size_t>(input)].insert(report.kernels.begin(), report.kernels.end());
    }
  }
  return operations;
}

std::vector<BufferReport> buffers_of(const Assembled& assembled) {
  std::vector<BufferReport> buffers;
  const int last = static_cast<int>(assembled.step_of.size()) - 1;
  for (size_t i = 0; i < assembled.requests.size(); ++i) {
    const PlanRequest& request = assembled.requests[i];
    const Placement& placement = assembled.plan.placements[i];
    BufferReport report;
    report.name = display_name(assembled.requests, static_cast<int>(i));
    report.bytes = request.bytes;
    report.first_kernel = request.first_step;
    report.last_kernel = request.output ? last : request.last_step;
    report.at = placement.at;
    switch (placement.kind) {
      case Placement::Kind::arena:
        report.place = BufferReport::Place::arena;
        break;
      case Placement::Kind::output:
        report.place = BufferReport::Place::output;
        break;
      case Placement::Kind::donated:
        report.place = BufferReport::Place::argument;
        break;
    }
    if (placement.overwrites && placement.overwrites->kind == PlanRequest::Operand::Kind::request)
      report.in_place_of = placement.overwrites->index;
    buffers.push_back(std::move(report));
  }
  return buffers;
}

std::vector<LayoutReport> layouts_of(const Journey& journey) { return LayoutReports(journey).run(); }

}  // namespace tokamak
