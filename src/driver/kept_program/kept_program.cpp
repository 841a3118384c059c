#include "driver/kept_program/kept_program.h"

#include <algorithm>

#include "cache/disk_cache.h"
#include "codegen/object_key.h"
#include "driver/kept_program/parts.h"
#include "driver/kept_program/sound.h"
#include "ops/index.h"
#include "ops/record.h"
#include "runtime/thread_pool.h"
#include "support/verification.h"

namespace tokamak {
namespace {

/// Larger ones are mostly constants, and take longer to compile than anybody would notice to be saved.
constexpr size_t kMostBytes = 1 << 20;

bool is_kept(const LoopKernel* kernel) { return kernel == nullptr || !kernel->bounds_checked; }

bool is_kept(const BlockOperand& operand) {
  return operand.maker == nullptr || is_kept(operand.maker->kernel.get());
}

bool is_kept(const Program::Step& step) {
  if (step.sort != nullptr || !is_kept(step.kernel.get())) return false;
  return step.block == nullptr || std::ranges::all_of(step.block->stages, [](const BlockStage& stage) {
           return is_kept(stage.kernel.get()) && is_kept(stage.lhs) && is_kept(stage.rhs);
         });
}

/// Whether the graph has what programs are not kept with, as far as it shows.
bool is_kept(const Graph& graph) {
  return std::ranges::none_of(graph.nodes(),
                              [](const Node& node) { return family_of(node.op) == OpFamily::Sort; });
}

/// Writes down all that a program depends on.
class ProgramFingerprint {
 public:
  std::string of(const Graph& graph, std::span<const Layout> layouts, const CompileOptions& options,
                 const Cpu& cpu) {
    out_.add("program");
    add(graph);
    out_.add(layouts.size());
    for (const auto& [dense, axes] : layouts) out_.add(dense), add(axes);
    const auto& [fuse, optimize, fast_math, donated, written, disabled_passes, checks, called] = options;
    out_.add(fuse).add(optimize).add(fast_math);
    (void)checks, (void)called;  // what is checked is not kept; the name is that of the caller
    add(donated);
    out_.add(written.size());
    for (const auto& [output, input, offset, step, keeps_others] : written)
      out_.add(output).add(input).add(offset).add(step).add(keeps_others);
    out_.add(disabled_passes.size());
    for (const std::string& pass : disabled_passes) out_.add(pass);
    out_.add(ThreadPool::instance().num_threads());
    // The system may refuse a process what the processor has.
    out_.add(cpu.amx_bf16 && has_bf16(graph) && may_use_tiles());
    return out_.bytes();
  }

 private:
  static bool has_bf16(const Graph& graph) {
    return std::ranges::any_of(graph.nodes(),
                               [](const Node& node) { return node.type.dtype == DType::bf16; });
  }
  template <class T>
  void add(const std::vector<T>& items) {
    out_.add(items.size());
    for (const T item : items) out_.add(item);
  }
  void add(const TensorType& type) {
    out_.add(type.dtype);
    add(type.shape);
  }
  void add(const Graph& graph) {
    // Lines are told by errors alone: those of programs that can end in one are part of what is kept.
    const bool tells_lines = std::ranges::any_of(graph.nodes(), rules::may_fail);
    out_.add(graph.name()).add(graph.size()).add(tells_lines);
    for (const Node& node : graph.nodes()) {
      const auto& [op, type, inputs, attributes, where] = node;
      out_.add(op);
      if (tells_lines) out_.add(where.file).add(where.line).add(where.column).add(where.function);
      add(type);
      add(inputs);
      out_.add(attributes.entries().size());
      for (const auto& [name, value] : attributes.entries()) {
        out_.add(name);
        std::visit([&](const auto& one) { add_attribute(one); }, value);
      }
    }
    add(graph.parameters());
    for (size_t i = 0; i < graph.parameters().size(); ++i) out_.add(graph.parameter_name(i));
    add(graph.outputs());
  }
  void add_attribute(const Ints& ints) { add(ints); }
  void add_attribute(const Tensor& tensor) {
    add(tensor.type());
    out_.add(std::string_view(reinterpret_cast<const char*>(tensor.data()), tensor.byte_size()));
  }
  template <class T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) void add_attribute(T value) { out_.add(value); }

  Fingerprint out_;
};

/// Whether a program takes and gives what the graph does.
bool has_types_of(const Program& program, const Graph& graph) {
  const auto are_types = [&](const std::vector<TensorType>& types, const std::vector<Value>& values) {
    return std::ranges::equal(types, values, {}, {}, [&](Value value) { return graph.type_of(value); });
  };
  return are_types(program.inputs, graph.parameters()) && are_types(program.outputs, graph.outputs());
}

}  // namespace

std::optional<std::string> encode_program(const Program& program, size_t kernels) {
  const auto is_step_kept = [](const Program::Step& step) { return is_kept(step); };
  if (program.observer != nullptr || !std::ranges::all_of(program.steps, is_step_kept)) return std::nullopt;
  kept::Writer steps;
  transfer(steps, program);
  Fingerprint all;
  all.add(kernels).add(steps.codes().size());
  for (const NativeKernel* code : steps.codes()) {
    if (!code->kept()) return std::nullopt;
    const auto& [key, name, symbols] = *code->kept();
    all.add(std::string_view(reinterpret_cast<const char*>(key.data()), key.size())).add(name);
    all.add(symbols.size());
    for (const std::string& symbol : symbols) all.add(symbol);
  }
  std::string bytes = all.bytes() + steps.bytes();
  if (bytes.size() > kMostBytes) return std::nullopt;
  return bytes;
}

std::optional<KeptProgram> decode_program(std::string_view bytes, const Cpu& cpu) {
  kept::Reader in(bytes, cpu);
  KeptProgram found;
  in.value(found.kernels);
  std::vector<std::shared_ptr<const NativeKernel>> codes;
  for (size_t count = in.count(0); codes.size() < count;) {
    KeptCode kept;
    std::string key;
    in.text(key);
    in.require(key.size() == kept.key.size());
    in.text(kept.name);
    transfer(in, kept.symbols);
    if (!in.is_good()) return std::nullopt;
    std::ranges::copy(key, kept.key.begin());
    codes.push_back(find_kept(kept, cpu));
    if (codes.back() == nullptr) return std::nullopt;
  }
  found.codes = codes.size();
  in.set_codes(std::move(codes));
  found.program = std::make_shared<Program>();
  transfer(in, *found.program);
  if (!in.is_good() || !in.is_at_end() || !kept::is_sound(*found.program)) return std::nullopt;
  return found;
}

ProgramEntry::ProgramEntry(const Graph& graph, std::span<const Layout> layouts, const CompileOptions& options,
                           const Cpu& cpu)
    : graph_(graph), cpu_(cpu) {
  if (DiskCache::instance() == nullptr || options.checks.any() || !is_kept(graph)) return;
  key_ = codegen::object_key(ProgramFingerprint().of(graph, layouts, options, cpu), cpu);
}

std::optional<KeptProgram> ProgramEntry::find() const {
  DiskCache* const disk = key_ && !verification_enabled() ? DiskCache::instance() : nullptr;
  const std::optional<std::string> bytes = disk != nullptr ? disk->find(*key_) : std::nullopt;
  std::optional<KeptProgram> found = bytes ? decode_program(*bytes, cpu_) : std::nullopt;
  return found && has_types_of(*found->program, graph_) ? std::move(found) : std::nullopt;
}

void ProgramEntry::keep(const Program& program, size_t kernels) const {
  DiskCache* const disk = key_ ? DiskCache::instance() : nullptr;
  if (disk == nullptr) return;
  const std::optional<std::string> made = encode_program(program, kernels);
  if (!made) return;
  if (verification_enabled()) {
    const std::optional<std::string> found = disk->find(*key_);
    if (found && *found != *made)
      throw InternalError("the disk cache has another program for " + graph_.name() +
                          ": there is something that the program depends on and its key does not tell");
    if (found) return;
  }
  disk->put(*key_, "program " + graph_.name() + " for " + cpu_.name, *made);
}

}  // namespace tokamak
