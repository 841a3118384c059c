#include "trace/jit.h"

#include <algorithm>
#include <chrono>

#include "support/log.h"
#include "trace/array_impl.h"
#include "trace/execute.h"
#include "trace/operands.h"
#include "trace/trace.h"

namespace tokamak {
namespace {

std::string describe(const TensorType& type, const Layout& layout) {
  return layout.dense ? to_string(type) : to_string(type) + " with strides " + strides_text(layout);
}

/// The first difference that keeps a program compiled before from being used again.
std::string difference(const Signature& before, std::span<const ArgumentView> now) {
  if (before.arguments.size() != now.size()) {
    return "it had " + std::to_string(before.arguments.size()) + " arguments and has " +
           std::to_string(now.size());
  }
  if (before.checks != current_checks())
    return "checks were '" + to_string(before.checks) + "' and are '" + to_string(current_checks()) + "'";
  for (size_t i = 0; i < now.size(); ++i) {
    const Signature::Argument& was = before.arguments[i];
    if (was.type == *now[i].type && was.layout == *now[i].layout) continue;
    return "argument " + std::to_string(i) + " was " + describe(was.type, was.layout) + " and is " +
           describe(*now[i].type, *now[i].layout);
  }
  return "static values or the structure of the arguments differ";
}

/// Ends a trace when leaving early.
struct AbandonOnExit {
  Trace& trace;
  ~AbandonOnExit() { trace.abandon(); }
};

}  // namespace

bool Signature::matches(std::span<const ArgumentView> views, uint64_t with_variant) const {
  if (variant != with_variant || arguments.size() != views.size() || checks != current_checks()) return false;
  for (size_t i = 0; i < views.size(); ++i) {
    if (!(arguments[i].type == *views[i].type) || !(arguments[i].layout == *views[i].layout)) return false;
  }
  return true;
}

JitFunction::JitFunction(JitOptions options, SourceLocation where)
    : options_(std::move(options)), where_(std::move(where)), cache_(options_.max_programs) {}

std::shared_ptr<const CompiledFunction> JitFunction::lookup(std::span<const ArgumentView> arguments,
                                                            uint64_t variant) const {
  return cache_.find([&](const Signature& signature) { return signature.matches(arguments, variant); });
}

std::shared_ptr<const CompiledFunction> JitFunction::compiled(std::span<const ArgumentView> arguments,
                                                              const Tracer& tracer,
                                                              const std::source_location& where,
                                                              uint64_t variant) {
  auto matches = [&](const Signature& signature) { return signature.matches(arguments, variant); };
  auto make_key = [&] {
    Signature signature{{}, variant};
    for (const ArgumentView& argument : arguments)
      signature.arguments.push_back({*argument.type, *argument.layout});
    return signature;
  };
  auto make = [&] {
    log_recompile(arguments);
    return with_user_line(where, [&] { return trace_and_compile(arguments, tracer); });
  };
  auto on_recursion = [&] {
    throw UserError("jit: '" + options_.name +
                        "' calls itself with the same types while it is being traced, which would never end",
                    user_line(where));
  };
  return cache_.get(matches, make_key, make, on_recursion);
}

std::shared_ptr<const CompiledFunction> JitFunction::trace_and_compile(
    std::span<const ArgumentView> arguments, const Tracer& tracer) const {
  const auto count = static_cast<int>(arguments.size());
  for (int position : tracer.donated) {
    if (position < 0 || position >= count) {
      throw UserError("jit: donate_argnums names argument " + std::to_string(position) + ", but '" +
                      options_.name + "' takes " + std::to_string(count));
    }
  }
  const auto start = std::chrono::steady_clock::now();
  auto trace = Trace::start(options_.name);
  AbandonOnExit guard{*trace};
  std::vector<Array> parameters;
  std::vector<Layout> layouts;
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string name = i < tracer.names.size() ? tracer.names[i] : "arg" + std::to_string(i);
    parameters.push_back(trace->parameter(std::move(name), *arguments[i].type, where_));
    layouts.push_back(*arguments[i].layout);
  }
  TraceResult result = tracer.run(parameters);
  const Graph graph = trace->finish(result.outputs);
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  CompileOptions options;
  options.fuse = options_.fuse;
  options.fast_math = options_.fast_math;
  options.donated = tracer.donated;
  Compiled compiled = compile(graph, layouts, options);
  compiled.explanation->add_tracing(time.count());
  return std::make_shared<const CompiledFunction>(CompiledFunction{
      std::move(compiled.program), std::move(compiled.explanation), std::move(result.structure)});
}

void JitFunction::log_recompile(std::span<const ArgumentView> arguments) const {
  if (!logging::enabled(logging::Channel::recompiles)) return;
  const auto before = cache_.latest_key();
  if (before == nullptr) return;
  logging::log(logging::Channel::recompiles,
               "'" + options_.name + "' is compiled again: " + difference(*before, arguments));
}

std::vector<Array> JitFunction::run(const CompiledFunction& function, std::span<const Array> arguments,
                                    const std::source_location& where) const {
  return run_program(*function.program, arguments, options_.name, where);
}

std::vector<Array> JitFunction::call(std::span<const Array> arguments, const Tracer& tracer,
                                     const std::source_location& where, uint64_t variant) {
  const bool inside_trace =
      std::any_of(arguments.begin(), arguments.end(), [](const Array& a) { return a.is_traced(); });
  if (inside_trace) return tracer.run({arguments.begin(), arguments.end()}).outputs;
  return run(*compiled(views_of(arguments, where), tracer, where, variant), arguments, where);
}

std::vector<ArgumentView> JitFunction::views_of(std::span<const Array> arguments,
                                                const std::source_location& where) const {
  std::vector<ArgumentView> views;
  views.reserve(arguments.size());
  for (const Array& argument : arguments) {
    const Memory& memory = memory_of(argument, options_.name.c_str(), where);
    views.push_back({&argument.impl().type(), &memory.layout});
  }
  return views;
}

JitCacheInfo JitFunction::cache_info() const {
  return {.programs = cache_.size(), .hits = cache_.hits(), .misses = cache_.misses()};
}

// The handle: a JitFunction and the one C++ function it is for.

namespace {

std::vector<Array> arrays_of(std::span<const Operand> operands) {
  std::vector<Array> arrays;
  arrays.reserve(operands.size());
  for (const Operand& operand : operands) arrays.push_back(as_array(operand));
  return arrays;
}

std::source_location line_of(std::span<const Operand> operands) {
  return operands.empty() ? std::source_location() : operands[0].where();
}

}  // namespace

struct JitHandle::State {
  JitFunction function;
  Tracer tracer;
};

JitHandle::JitHandle(Traced function, JitOptions options, std::source_location where) {
  Tracer tracer;
  tracer.run = [function = std::move(function)](const std::vector<Array>& parameters) {
    return TraceResult{function(parameters), nullptr};
  };
  tracer.names = options.argument_names;
  tracer.donated = options.donate_argnums;
  state_ =
      std::shared_ptr<State>(new State{{std::move(options), SourceLocation::from(where)}, std::move(tracer)});
}

std::vector<Array> JitHandle::call(std::span<const Array> arguments, std::source_location where) const {
  return state_->function.call(arguments, state_->tracer, where);
}

std::vector<Array> JitHandle::call(std::span<const Operand> arguments) const {
  return call(arrays_of(arguments), line_of(arguments));
}

std::shared_ptr<const Explanation> JitHandle::explain(std::span<const Array> arguments,
                                                      std::source_location where) const {
  JitFunction& function = state_->function;
  return function.compiled(function.views_of(arguments, where), state_->tracer, where)->explanation;
}

std::shared_ptr<const Explanation> JitHandle::explain(std::span<const Operand> arguments) const {
  return explain(arrays_of(arguments), line_of(arguments));
}

JitCacheInfo JitHandle::cache_info() const { return state_->function.cache_info(); }

void JitHandle::clear() const { state_->function.clear(); }

}  // namespace tokamak
