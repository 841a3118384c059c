// Tries random programs. tests/fuzz/run.py starts one of these for every processor and every part left out.
//
//   fuzz_programs run FIRST COUNT       the programs of the seeds from FIRST on
//   fuzz_programs shrink SEED SECONDS   a small program that fails as that of the seed does, as a file
//   fuzz_programs check FILE...         programs from files
//   fuzz_programs settings              what TOKAMAK_CPU and TOKAMAK_DISABLE may be here, a line each
//   fuzz_programs plant FIRST COUNT     how many wrong elements, planted in right results, are noticed

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>

#include "fuzz/program.h"
#include "interp/oracle/oracle.h"
#include "support/cpu.h"
#include "support/parts.h"

namespace tokamak::testing {
namespace {

/// Lines that tests/fuzz/run.py reads: a crash leaves "begin" without its "end".
int run(uint32_t first, uint32_t count) {
  std::array<int64_t, kOpCount> ops = {};
  int64_t compiled = 0;
  for (uint32_t seed = first; seed != first + count; ++seed) {
    std::cout << "begin " << seed << std::endl;
    const FuzzProgram program = make_program(seed);
    for (const Node& node : program.graph.nodes()) ++ops[static_cast<size_t>(node.op)];
    const std::optional<Failure> failure = check(program, {}, &compiled);
    std::string what = failure ? failure->way + ": " + failure->what : "";
    std::cout << (failure ? "wrong " + what.substr(0, what.find('\n')) : "end") << std::endl;
  }
  std::cout << "compiled " << compiled << "\n";
  for (size_t op = 0; op < kOpCount; ++op)
    std::cout << "op " << name_of(static_cast<Op>(op)) << " " << ops[op] << "\n";
  return 0;
}

std::string environment() {
  std::string text;
  for (const char* name : {"TOKAMAK_CPU", "TOKAMAK_DISABLE"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != 0) text += std::string(name) + "=" + value + " ";
  }
  return text;
}

int shrink(uint32_t seed, double seconds) {
  FuzzProgram program = make_program(seed);
  std::optional<Failure> failure = check_apart(program);
  if (failure && failure->way.empty()) {  // a crash: in which way?
    for (const std::string& way : ways_of_compiling()) {
      failure = check_apart(program, way);
      if (failure) {
        failure->way = way;
        break;
      }
    }
  }
  if (!failure) {
    std::cerr << "the program of seed " << seed << " does not fail\n";
    return 2;
  }
  program = shrunk(std::move(program), *failure, seconds);
  std::cout << file_text(program, "Seed " + std::to_string(seed) + ", " + environment() + "compiled " +
                                      failure->way + ":\n" + failure->what);
  return 0;
}

int check_files(std::span<char*> files) {
  int wrong = 0;
  for (const char* name : files) {
    std::ifstream file(name);
    std::stringstream text;
    text << file.rdbuf();
    if (!file) {
      std::cerr << name << ": cannot be read\n";
      return 2;
    }
    const FuzzProgram program = program_of(text.str(), name);
    const std::optional<Failure> failure = check_apart(program);
    if (failure) std::cout << name << ": " << failure->way << ": " << failure->what << "\n";
    wrong += failure ? 1 : 0;
  }
  std::cout << files.size() << " programs, " << wrong << " wrong\n";
  return wrong == 0 ? 0 : 1;
}

/// Right results with one wrong element: most must be noticed, or the oracle allows too much.
int plant(uint32_t first, uint32_t count) {
  constexpr double kWanted = 0.9;
  int64_t planted = 0, noticed = 0;
  for (uint32_t seed = first; seed != first + count; ++seed) {
    const FuzzProgram program = make_program(seed);
    std::mt19937 random(seed);
    try {
      Oracle oracle(program.graph, program.arguments, current_cpu().fma, {});
      for (size_t output = 0; output < oracle.values().size(); ++output) {
        const TensorType type = oracle.values()[output].type();
        if (type.elements() == 0) continue;
        std::vector<Tensor> wrong = oracle.values();
        const auto at = static_cast<int64_t>(random() % static_cast<uint64_t>(type.elements()));
        const double value = element_as_double(wrong[output], at);
        const Tensor other = is_float(type.dtype)
                                 ? scalar_tensor(type.dtype, std::isfinite(value) ? 2 * value + 1 : 1.0)
                                 : scalar_tensor(type.dtype, element_as_int(wrong[output], at) ^ 1);
        wrong[output] = Tensor::copy_of(type, wrong[output].data());
        const size_t size = size_of(type.dtype);
        std::memcpy(wrong[output].mutable_data() + static_cast<size_t>(at) * size, other.data(), size);
        ++planted;
        noticed += oracle.compare(wrong).empty() ? 0 : 1;
      }
    } catch (const UserError&) {
      // Running it is an error.
    }
  }
  std::cout << "noticed " << noticed << " of " << planted << " wrong elements\n";
  return static_cast<double>(noticed) >= kWanted * static_cast<double>(planted) ? 0 : 1;
}

int show_settings() {
  for (const char* cpu : {"x86-64", "x86-64-v3", "x86-64-v4"})
    if (cpu_named(cpu).runs_here) std::cout << cpu << " ";
  std::cout << "\n";
  for (std::string_view part : part_names()) std::cout << part << " ";
  std::cout << "\n";
  return 0;
}

int main_of(std::span<char*> words) {
  const std::string_view command = words.size() > 1 ? words[1] : "";
  auto number = [&](size_t i) { return std::strtod(words[i], nullptr); };
  if (command == "run" && words.size() == 4)
    return run(static_cast<uint32_t>(number(2)), static_cast<uint32_t>(number(3)));
  if (command == "settings") return show_settings();
  if (command == "plant" && words.size() == 4)
    return plant(static_cast<uint32_t>(number(2)), static_cast<uint32_t>(number(3)));
  if (command == "shrink" && words.size() == 4) return shrink(static_cast<uint32_t>(number(2)), number(3));
  if (command == "check" && words.size() > 2) return check_files(words.subspan(2));
  std::cerr << "usage: fuzz_programs run FIRST COUNT | shrink SEED SECONDS | check FILE... | settings | "
               "plant FIRST COUNT\n";
  return 2;
}

}  // namespace
}  // namespace tokamak::testing

int main(int argc, char** argv) {
  try {
    return tokamak::testing::main_of({argv, static_cast<size_t>(argc)});
  } catch (const std::exception& error) {
    std::cerr << "fuzz_programs: " << error.what() << "\n";
    return 2;
  }
}
