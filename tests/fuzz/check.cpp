// One program against the interpreter, compiled in every way and run in every way.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <memory>

#include "cache/disk_cache.h"
#include "driver/kept_program/kept_program.h"
#include "fuzz/program.h"
#include "interp/oracle/oracle.h"
#include "native/check.h"
#include "passes/compare.h"
#include "passes/pipeline.h"
#include "runtime/buffer_pool.h"
#include "runtime/profiler.h"
#include "runtime/thread_pool.h"
#include "support/cpu.h"
#include "support/parts.h"

namespace tokamak::testing {
namespace {

constexpr int kThreads[] = {1, 2, 7};
/// An endless loop, in a process of its own.
constexpr unsigned kMostSeconds = 60;

const std::string kWithout = "without ";

struct Way {
  std::string name;
  CompileOptions options;
};

std::vector<Way> ways() {
  std::vector<Way> all = {{"default", {}},
                          {"unfused", {.fuse = false}},
                          {"as recorded", {.fuse = false, .optimize = false}},
                          {"unoptimized", {.optimize = false}},
                          {"fast-math", {.fast_math = true}},
                          {"donated", {}}};
  for (const GraphPass& pass : graph_passes())
    all.push_back({kWithout + std::string(pass.name), {.disabled_passes = {std::string(pass.name)}}});
  return all;
}

std::string same_results(const std::vector<Tensor>& found, const std::vector<Tensor>& expected) {
  for (size_t i = 0; i < found.size(); ++i) {
    const std::string wrong = compare(found[i], expected[i]);
    if (!wrong.empty()) return "output " + std::to_string(i) + ": " + wrong;
  }
  return {};
}

class Checker {
 public:
  Checker(const FuzzProgram& program, int64_t* compiled)
      : program_(program),
        arguments_(arrange_all(program.arguments, program.arrangements)),
        compiled_(compiled) {
    if (program.arguments.empty()) arguments_.clear();
  }

  std::optional<Failure> run(std::string_view only_way) {
    ThreadPool& pool = ThreadPool::instance();
    const int before = pool.num_threads();
    std::optional<Failure> failure;
    for (const Way& way : ways()) {
      if (failure || (!only_way.empty() && way.name != only_way)) continue;
      if (only_way.empty() && makes_no_difference(way)) continue;
      std::string wrong;
      try {
        wrong = try_way(way);
      } catch (const std::exception& error) {
        wrong = error.what();
      }
      if (!wrong.empty()) failure = Failure{way.name, wrong};
    }
    pool.set_num_threads(before);
    return failure;
  }

 private:
  /// Whether the program without a pass is the program with it.
  bool makes_no_difference(const Way& way) {
    if (way.options.disabled_passes.empty()) return false;
    const Graph graph = optimized(way.options.disabled_passes);
    auto same = [&](const Graph& other) { return same_structure(graph, other); };
    if (seen_.empty()) seen_.push_back(optimized({}));
    if (std::ranges::any_of(seen_, same)) return true;
    seen_.push_back(graph);
    return false;
  }

  Graph optimized(const std::vector<std::string>& disabled) const {
    PipelineOptions options;
    options.fused_multiply_add = current_cpu().fma;
    options.disabled = disabled;
    return run_pipeline(program_.graph, options);
  }

  std::string try_way(const Way& way) {
    Looseness looseness;
    looseness.contracted = way.options.fast_math;
    looseness.functions = !is_enabled(Part::vector_math);
    if (!oracle_ || looseness != looseness_) {
      looseness_ = looseness;
      expected_error_.clear();
      oracle_.reset();
      try {
        oracle_ = std::make_unique<Oracle>(program_.graph, program_.arguments, current_cpu().fma, looseness);
      } catch (const UserError& error) {
        expected_error_ = error.what();
      }
    }
    std::string found_error;
    try {
      const std::string wrong = way.name == "donated" ? run_donated() : run_compiled(way);
      if (!wrong.empty()) return wrong;
    } catch (const UserError& error) {
      found_error = error.what();
    }
    if (found_error.empty() == expected_error_.empty()) return {};
    return found_error.empty() ? "no error where the interpreter has one: " + expected_error_
                               : "an error that the interpreter does not have: " + found_error;
  }

  std::string run_compiled(const Way& way) {
    const Compiled compiled = compile_for(program_.graph, arguments_, way.options);
    ++*compiled_;
    const bool is_default = way.name == "default";
    Program program = *compiled.program;
    // Chunks as small as they come, so that small programs use all threads too.
    for (Program::Step& step : program.steps) std::ranges::fill(step.grains, 1);
    ThreadPool::instance().set_num_threads(kThreads[*compiled_ % 3]);
    const std::vector<Tensor> found = testing::run(program, arguments_);
    if (oracle_) {
      const std::string wrong = oracle_->compare(found);
      if (!wrong.empty()) return wrong;
    }
    return is_default ? run_again(*compiled.program, program, found) : "";
  }

  /// The same bits for any number of threads and any chunks, anywhere in memory, with the profiler and
  /// without, and as the disk cache keeps it.
  std::string run_again(const Program& program, const Program& finely, const std::vector<Tensor>& first) {
    auto differs = [&](const Program& which, const std::vector<Arranged>& arguments, const std::string& how) {
      const std::string wrong = same_results(testing::run(which, arguments), first);
      return wrong.empty() ? wrong : "other bits " + how + ": " + wrong;
    };
    std::string wrong;
    for (const int threads : kThreads) {
      ThreadPool::instance().set_num_threads(threads);
      const std::string with = "with " + std::to_string(threads) + " threads";
      if (wrong.empty()) wrong = differs(finely, arguments_, with + " and small chunks");
      if (wrong.empty()) wrong = differs(program, arguments_, with);
    }
    if (wrong.empty()) {
      ProfileSession session;
      wrong = differs(program, arguments_, "with the profiler");
    }
    std::vector<Arranged> elsewhere = arguments_;
    for (size_t i = 0; i < elsewhere.size(); ++i) {
      if (program_.arrangements[i] == Arrangement::dense)
        elsewhere[i] = arrange(program_.arguments[i], Arrangement::unaligned);
    }
    if (wrong.empty()) wrong = differs(program, elsewhere, "with unaligned arguments");
    const std::optional<std::string> kept = encode_program(program, program.steps.size());
    if (!wrong.empty() || !kept || DiskCache::instance() == nullptr) return wrong;
    DiskCache::finish();
    const std::optional<KeptProgram> found = decode_program(*kept, current_cpu());
    if (!found) return "the next process would not find it";
    return differs(*found->program, arguments_, "as the next process finds it");
  }

  /// Arguments whose memory results may take over.
  std::string run_donated() {
    CompileOptions options;
    for (size_t i = 0; i < arguments_.size(); ++i) options.donated.push_back(static_cast<int>(i));
    const std::vector<Layout> layouts(arguments_.size());
    const Compiled compiled = compile(program_.graph, layouts, options);
    const Program& program = *compiled.program;
    const bool takes_over =
        std::ranges::any_of(program.output_donor, [](const auto& d) { return d.has_value(); });
    if (!takes_over && oracle_) return {};
    ++*compiled_;
    std::vector<Block> blocks;
    std::vector<void*> inputs, outputs;
    auto allocate = [&](int64_t bytes) {
      blocks.push_back(BufferPool::instance().allocate(bytes));
      return blocks.back().data();
    };
    for (const Tensor& argument : program_.arguments) {
      inputs.push_back(allocate(argument.type().bytes()));
      if (argument.byte_size() != 0) std::memcpy(inputs.back(), argument.data(), argument.byte_size());
    }
    for (size_t i = 0; i < program.outputs.size(); ++i) {
      const std::optional<int> donor = program.output_donor[i];
      outputs.push_back(donor ? inputs[static_cast<size_t>(*donor)] : allocate(program.outputs[i].bytes()));
    }
    const std::vector<const int64_t*> strides(inputs.size(), nullptr);
    program.run(inputs.data(), strides.data(), outputs.data());
    std::vector<Tensor> found;
    for (size_t i = 0; i < outputs.size(); ++i)
      found.push_back(Tensor::copy_of(program.outputs[i], outputs[i]));
    return oracle_ ? oracle_->compare(found) : "";
  }

  const FuzzProgram& program_;
  std::vector<Arranged> arguments_;
  int64_t* compiled_;
  std::vector<Graph> seen_;
  Looseness looseness_;
  std::unique_ptr<Oracle> oracle_;  ///< null where running the program is an error
  std::string expected_error_;
};

}  // namespace

std::vector<std::string> ways_of_compiling() {
  std::vector<std::string> names;
  for (Way& way : ways()) names.push_back(std::move(way.name));
  return names;
}

std::optional<Failure> check(const FuzzProgram& program, std::string_view only_way, int64_t* compiled) {
  int64_t uncounted = 0;
  return Checker(program, compiled == nullptr ? &uncounted : compiled).run(only_way);
}

std::optional<Failure> check_apart(const FuzzProgram& program, std::string_view only_way) {
  int ends[2];
  if (pipe(ends) != 0) throw std::bad_alloc();
  const pid_t child = fork();
  if (child < 0) throw std::bad_alloc();
  if (child == 0) {
    close(ends[0]);
    alarm(kMostSeconds);
    const std::optional<Failure> failure = check(program, only_way);
    const std::string message = failure ? failure->way + "\n" + failure->what : "";
    const ssize_t written = write(ends[1], message.data(), std::min<size_t>(message.size(), 4000));
    _exit(written < 0 ? 1 : 0);
  }
  close(ends[1]);
  std::string message;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    message.append(buffer, static_cast<size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    const bool endless = WTERMSIG(status) == SIGALRM;
    return Failure{std::string(only_way),
                   endless ? "no end after a minute" : "crash: " + std::string(strsignal(WTERMSIG(status)))};
  }
  if (WEXITSTATUS(status) != 0) return Failure{std::string(only_way), "the process ended"};
  if (message.empty()) return std::nullopt;
  const size_t line = message.find('\n');
  return Failure{message.substr(0, line), message.substr(line + 1)};
}

}  // namespace tokamak::testing
