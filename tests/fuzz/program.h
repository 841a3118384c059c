#pragma once

// A program to try: a graph, arguments, and how these lie in memory.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "native/arranged.h"

namespace tokamak::testing {

struct FuzzProgram {
  Graph graph;
  std::vector<Tensor> arguments;
  std::vector<Arrangement> arrangements;  ///< one per argument
};

/// The program of a seed.
FuzzProgram make_program(uint32_t seed);

/// What native code does wrong.
struct Failure {
  std::string way;  ///< of compiling it: one of ways()
  std::string what;
};

/// Every way a program is compiled: as it is by default, without one pass, unfused, ...
std::vector<std::string> ways_of_compiling();

/// Compiles and runs the program in every way, or only the one named; nothing when all is right.
/// `compiled` counts the programs that were made.
std::optional<Failure> check(const FuzzProgram& program, std::string_view only_way = {},
                             int64_t* compiled = nullptr);

/// The same in a process of its own, so that crashes and endless loops are failures too.
std::optional<Failure> check_apart(const FuzzProgram& program, std::string_view only_way = {});

/// A smaller program that fails in the same way. `failure` becomes that of the program returned.
FuzzProgram shrunk(FuzzProgram program, Failure& failure, double seconds);

/// A file of text IR with two functions: the program, and @arguments, which returns what it is called with.
/// `about` goes into comments in front.
std::string file_text(const FuzzProgram& program, const std::string& about);
/// Throws UserError for what file_text would not write.
FuzzProgram program_of(const std::string& text, const std::string& file_name);

}  // namespace tokamak::testing
