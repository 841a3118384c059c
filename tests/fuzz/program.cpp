#include "fuzz/program.h"

#include <random>

#include "interp/interpreter.h"
#include "ir/random_graph.h"
#include "ir/text.h"

namespace tokamak::testing {
namespace {

/// Longer than vectors, shorter than them, and broadcasting to each other.
const std::vector<Shape> kLongShapes = {{},         {1},        {37},    {5, 37}, {5, 1},  {1, 37},
                                        {2, 5, 37}, {2, 1, 37}, {37, 5}, {70},    {3, 70}, {0, 37}};
/// Enough for several threads, with odd sizes.
const std::vector<Shape> kLargeShapes = {{},      {1},         {4099},   {33, 129}, {129, 33},
                                         {33, 1}, {2, 65, 33}, {1, 129}, {129},     {7, 19, 5, 3}};

constexpr std::string_view kArranged = "// arranged: ";

}  // namespace

FuzzProgram make_program(uint32_t seed) {
  std::mt19937 random(seed ^ 0x9e3779b9);
  RandomGraphOptions options;
  options.nodes = 4 + static_cast<int>(random() % 24);
  const uint32_t size = random() % 16;
  if (size > 0) options.shapes = size == 1 ? kLargeShapes : kLongShapes;
  if (size > 8) options.shapes = {};
  options.idioms = static_cast<int>(random() % 3 * 20);
  options.checks = random() % 6 == 0;
  options.numbers = Numbers{static_cast<uint8_t>(random() % 3)};
  if (random() % 40 == 0) {  // exact sums only: the interpreter takes long
    options.large = true;
    options.numbers = Numbers::whole;
    options.idioms = 60;
    options.nodes = std::min(options.nodes, 12);
  }
  FuzzProgram program{random_graph(seed, options), {}, {}};
  program.arguments = random_arguments(program.graph, random, options.numbers);
  const bool all_dense = random() % 3 == 0;
  for (size_t i = 0; i < program.arguments.size(); ++i) {
    program.arrangements.push_back(all_dense ? Arrangement::dense
                                             : kArrangements[random() % std::size(kArrangements)]);
    program.arguments[i] = arrange(program.arguments[i], program.arrangements[i]).logical;
  }
  return program;
}

std::string file_text(const FuzzProgram& program, const std::string& about) {
  std::string text;
  for (size_t begin = 0; begin < about.size();) {
    const size_t end = std::min(about.find('\n', begin), about.size());
    text += "// " + about.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  text += kArranged;
  for (Arrangement arrangement : program.arrangements) text += std::string(name_of(arrangement)) + " ";
  text.back() = '\n';
  Graph arguments("arguments");
  std::vector<Value> outputs;
  for (const Tensor& argument : program.arguments) outputs.push_back(arguments.add_constant(argument));
  arguments.set_outputs(outputs);
  text += print(program.graph);
  if (!outputs.empty()) text += "\n" + print(arguments);
  return text;
}

FuzzProgram program_of(const std::string& text, const std::string& file_name) {
  std::vector<Graph> graphs = parse(text, file_name);
  if (graphs.empty() || graphs.size() > 2 || (graphs.size() == 2 && graphs[1].name() != "arguments"))
    throw UserError(file_name + ": a function is wanted, and @arguments behind it");
  FuzzProgram program{std::move(graphs[0]), {}, {}};
  if (graphs.size() == 2) program.arguments = interpret(graphs[1], {}, /*fused_multiply_add=*/false);
  if (program.arguments.size() != program.graph.parameters().size())
    throw UserError(file_name + ": @arguments returns another number than the function takes");
  program.arrangements.resize(program.arguments.size(), Arrangement::dense);
  if (size_t at = text.find(kArranged); at != std::string::npos) {
    std::string_view words = std::string_view(text).substr(at + kArranged.size());
    words = words.substr(0, words.find('\n'));
    for (size_t i = 0; i < program.arrangements.size() && !words.empty(); ++i) {
      const std::string_view word = words.substr(0, words.find(' '));
      for (Arrangement arrangement : kArrangements)
        if (name_of(arrangement) == word) program.arrangements[i] = arrangement;
      words.remove_prefix(std::min(word.size() + 1, words.size()));
    }
  }
  return program;
}

}  // namespace tokamak::testing
