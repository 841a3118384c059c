#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "runtime/program.h"
#include "support/checks.h"
#include "tokamak/explanation.h"

namespace tokamak {

/// An output that has new elements of an input: they are to be in the memory of the input in the end, from
/// its element `offset` on, every `step`-th element there being one of them.
struct WrittenInput {
  int output;
  int input;
  int64_t offset = 0;
  int64_t step = 1;
  bool keeps_others = false;  ///< the output has other elements, too, which must not be stored there

  friend bool operator==(const WrittenInput&, const WrittenInput&) = default;
};

struct CompileOptions {
  bool fuse = true;
  bool optimize =
      true;  ///< run the graph passes; otherwise only what products need, and dead operations are computed
  bool fast_math = false;
  std::vector<int> donated;  ///< positions of parameters whose memory may be overwritten
  std::vector<WrittenInput> written;
  std::vector<std::string> disabled_passes;
  Checks checks = current_checks();
  std::string called;  ///< by its user, for profiles; the graph's name, which is one of text IR, if empty

  friend bool operator==(const CompileOptions&, const CompileOptions&) = default;
};

struct Compiled {
  std::shared_ptr<const Program> program;
  std::shared_ptr<Explanation> explanation;
};

/// The whole journey: graph, passes, fusion, loops, schedule, code, memory plan. `layouts` has one entry per
/// parameter.
Compiled compile(const Graph& graph, std::span<const Layout> layouts, const CompileOptions& options = {});

}  // namespace tokamak
