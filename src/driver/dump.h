#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/text.h"
#include "tokamak/explanation.h"

namespace tokamak {

/// Every stage of one compilation as files, in a folder of its own in TOKAMAK_DUMP_DIR:
///   001-f/index.html                   all that follows, on a page
///   001-f/00-traced.tok, 01-simplify.tok, ...   the graph, after every pass that changed it
///   001-f/summary.txt, steps.txt, memory.txt
///   001-f/kernel-0-add_mul/graph.tok, schedule.txt, loops.txt, kernel.ll, kernel.s
/// The index.html above lists the programs. What cannot be written is reported once and passed over.
class ProgramDump {
 public:
  /// Whether TOKAMAK_DUMP_DIR is set, and this thread's work is to be seen.
  static bool is_wanted();
  /// nullptr when it is not wanted, or the folder cannot be made.
  static std::unique_ptr<ProgramDump> begin(const Graph& traced);

  void after_pass(std::string_view pass, const Graph& graph);
  /// The program is compiled.
  void finish(const Explanation& explanation);

 private:
  struct File {
    std::string name;  ///< within the folder
    std::string text;
  };

  ProgramDump(std::filesystem::path root, std::filesystem::path folder, const Graph& traced);
  void add(std::string name, std::string text);
  void add_graph(std::string_view stage, const Graph& graph);
  void add_text(std::string_view stage, std::string text);
  void add_kernel(size_t number, const KernelReport& kernel);
  std::string page() const;

  std::filesystem::path root_;
  std::filesystem::path folder_;
  std::string function_;
  LastingNames names_;
  std::string last_graph_;
  size_t graphs_ = 0;
  std::vector<File> files_;
};

}  // namespace tokamak
