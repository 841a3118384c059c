#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tokamak/array.h"
#include "tokamak/explanation.h"
#include "tokamak/export.h"

namespace tokamak {

/// How a function is compiled.
struct TOKAMAK_API JitOptions {
  bool fuse = true;        ///< false: one kernel per operation
  bool fast_math = false;  ///< relaxes the promise that every operation rounds as NumPy's does
  std::vector<int>
      donate_argnums;  ///< arguments whose memory an output may take over; they are gone after the call
  std::vector<std::string> argument_names;  ///< in reports; "arg0", "arg1", ... where there is none
  std::string name = "f";                   ///< in reports, logs and errors
  size_t max_programs = 64;                 ///< compiled programs kept; the one unused for longest goes first
};

/// How the programs of one jitted function are doing.
struct JitCacheInfo {
  size_t programs = 0;
  uint64_t hits = 0;
  uint64_t misses = 0;
};

/// A jitted function without its C++ signature. Calls are thread-safe, and compile once per signature.
class TOKAMAK_API JitHandle {
 public:
  using Traced = std::function<std::vector<Array>(const std::vector<Array>& parameters)>;

  JitHandle(Traced function, JitOptions options, std::source_location where);

  std::vector<Array> call(std::span<const Array> arguments, std::source_location where) const;
  std::vector<Array> call(std::span<const Operand> arguments) const;  ///< at the line of the first
  std::shared_ptr<const Explanation> explain(std::span<const Array> arguments,
                                             std::source_location where) const;
  std::shared_ptr<const Explanation> explain(std::span<const Operand> arguments) const;
  JitCacheInfo cache_info() const;
  void clear() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

namespace detail {

/// Results as C++ functions return them: an Array, a tuple or pair of Arrays, a vector of Arrays.
template <class Result>
struct Results {
  static std::vector<Array> flatten(Result result) {
    return std::apply([](auto&... arrays) { return std::vector<Array>{std::move(arrays)...}; }, result);
  }
  static Result build(std::vector<Array> arrays) {
    return [&]<size_t... I>(std::index_sequence<I...>) { return Result{std::move(arrays[I])...}; }
    (std::make_index_sequence<std::tuple_size_v<Result>>());
  }
};
template <>
struct Results<Array> {
  static std::vector<Array> flatten(Array array) { return {std::move(array)}; }
  static Array build(std::vector<Array> arrays) { return std::move(arrays[0]); }
};
template <>
struct Results<std::vector<Array>> {
  static std::vector<Array> flatten(std::vector<Array> arrays) { return arrays; }
  static std::vector<Array> build(std::vector<Array> arrays) { return arrays; }
};

/// The parameters of a callable: `count` Arrays, or one vector of any number.
template <class Function>
struct Parameters : Parameters<decltype(&Function::operator())> {};
template <class R, class... A>
struct Parameters<R (*)(A...)> {
  using Result = std::remove_cvref_t<R>;
  static constexpr size_t count = sizeof...(A);
  static constexpr bool takes_vector =
      (std::is_same_v<std::remove_cvref_t<A>, std::vector<Array>> && ...) && count == 1;
  static_assert(takes_vector || (std::is_same_v<std::remove_cvref_t<A>, Array> && ...),
                "a jitted function takes Arrays, or one std::vector<Array>");
};
template <class C, class R, class... A>
struct Parameters<R (C::*)(A...) const> : Parameters<R (*)(A...)> {};
template <class C, class R, class... A>
struct Parameters<R (C::*)(A...)> : Parameters<R (*)(A...)> {};

}  // namespace detail

/// What jit() returns. Copies share their compiled programs.
///
/// Called with arrays it runs the compiled program for their types, shapes and layouts, compiling it the
/// first time. Called inside another function that is being traced, it becomes part of that function.
template <class Function, class Positions = std::make_index_sequence<detail::Parameters<Function>::count>>
class Jitted;

template <class Function, size_t... I>
class Jitted<Function, std::index_sequence<I...>> {
  using Parameters = detail::Parameters<Function>;
  using Result = typename Parameters::Result;
  using Where = std::source_location;
  template <size_t>
  using Argument = const Operand&;  ///< an array or a number, and the line of the call

 public:
  Jitted(Function function, JitOptions options, Where where)
      : handle_(
            [function = std::move(function)](const std::vector<Array>& parameters) mutable {
              return detail::Results<Result>::flatten(invoke(function, parameters));
            },
            std::move(options), where) {}

  Result operator()(Argument<I>... arguments) const requires(!Parameters::takes_vector) {
    const std::vector<Operand> list = {arguments...};
    return detail::Results<Result>::build(handle_.call(list));
  }
  Result operator()(const std::vector<Array>& arguments, Where where = Where::current()) const
      requires(Parameters::takes_vector) {
    return detail::Results<Result>::build(handle_.call(arguments, where));
  }

  /// What it compiles to for these arguments. Compiles when that has not happened yet; does not run.
  Explanation explain(Argument<I>... arguments) const requires(!Parameters::takes_vector) {
    const std::vector<Operand> list = {arguments...};
    return *handle_.explain(list);
  }
  Explanation explain(const std::vector<Array>& arguments, Where where = Where::current()) const
      requires(Parameters::takes_vector) {
    return *handle_.explain(arguments, where);
  }

  JitCacheInfo cache_info() const { return handle_.cache_info(); }
  void clear_cache() const { handle_.clear(); }

 private:
  static Result invoke(Function& function, const std::vector<Array>& parameters) {
    if constexpr (Parameters::takes_vector) {
      return function(parameters);
    } else {
      return function(parameters[I]...);
    }
  }

  JitHandle handle_;
};

/// Compiles `function`, which takes Arrays and returns an Array, a tuple, pair or vector of them.
///
///   auto f = tk::jit([](tk::Array w, tk::Array x) { return tk::sum(tk::relu(w * x)); });
///   tk::Array y = f(w, x);
template <class Function>
auto jit(Function function, JitOptions options = {},
         std::source_location where = std::source_location::current()) {
  return Jitted<std::decay_t<Function>>(std::move(function), std::move(options), where);
}

}  // namespace tokamak
