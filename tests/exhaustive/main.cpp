// Every value of small floats and integers through native code: see docs/numerics.md and docs/reliability.md.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "exhaustive/hard_cases.h"
#include "exhaustive/measure.h"
#include "exhaustive/pairs.h"
#include "math/samples.h"
#include "runtime/thread_pool.h"
#include "support/cpu.h"

namespace tokamak::exhaustive {
namespace {

constexpr size_t kRandomDoubles = 200000;
/// Far more than the quick reference may be wrong by.
constexpr double kMostReferenceUlp = 1e-4;

struct Asked {
  std::string command;
  std::vector<std::string> functions;
  std::vector<std::string> types;
  std::vector<std::string> cpus;
  std::optional<uint64_t> sample;
  bool some = false;
  int jobs = 1;
  std::string results;

  bool wants(std::string_view function) const {
    return functions.empty() || std::ranges::find(functions, function) != functions.end();
  }
  std::vector<DType> dtypes(std::vector<DType> all) const {
    if (types.empty()) return all;
    std::erase_if(all, [&](DType dtype) { return std::ranges::find(types, name_of(dtype)) == types.end(); });
    return all;
  }
};

constexpr const char* kUsage = R"(usage:
  exhaustive functions [--function NAME]... [--type f16|bf16|f32|f64]... [--isa CPU]... [--sample N]
                       [--jobs J] [--results FILE]
    Functions of one float: all values of f16, bf16 and f32; of f64 what is hard, and random ones.
    --sample: N of f32 and f64.
  exhaustive pairs [--function NAME]... [--type i8|u8]... [--isa CPU]... [--some] [--results FILE]
    Operations of two integers of 8 bits: all pairs, at all places. --some: at fewer.

What is found is printed, and added as lines of JSON to the file. CPU is what TOKAMAK_CPU may be; without
any, all that this machine has are tried, each in a process of its own.
)";

bool asks_for_help(std::span<char*> words) {
  return std::ranges::any_of(words, [](std::string_view word) { return word == "--help" || word == "-h"; });
}

Asked parse(std::span<char*> words) {
  if (words.size() < 2) throw std::invalid_argument("say functions or pairs; --help tells more");
  Asked asked{.command = words[1]};
  if (asked.command != "functions" && asked.command != "pairs")
    throw std::invalid_argument("unknown: " + asked.command);
  for (size_t i = 2; i < words.size(); ++i) {
    const std::string option = words[i];
    const auto value = [&]() -> std::string {
      if (i + 1 == words.size()) throw std::invalid_argument(option + " needs a value");
      return words[++i];
    };
    if (option == "--function")
      asked.functions.push_back(value());
    else if (option == "--type")
      asked.types.push_back(value());
    else if (option == "--isa")
      asked.cpus.push_back(value());
    else if (option == "--sample")
      asked.sample = std::stoull(value());
    else if (option == "--jobs")
      asked.jobs = std::max(1, std::stoi(value()));
    else if (option == "--results")
      asked.results = value();
    else if (option == "--some")
      asked.some = true;
    else
      throw std::invalid_argument("unknown: " + option);
  }
  return asked;
}

void keep(const Asked& asked, const std::string& line) {
  if (asked.results.empty()) return;
  std::ofstream file(asked.results, std::ios::app);
  file << line << "\n";
  if (!file.flush()) throw std::runtime_error(asked.results + ": cannot be written");
}

std::string number_text(double number) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", number);
  return text;
}

bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

/// All of 16 and 32 bits, or what is hard for functions of f64.
std::vector<Arguments> arguments_for(const Function& function, const Asked& asked) {
  if (is_half(function.operand)) return {sweep_over(function.operand, std::nullopt)};
  static const std::vector<float> special = test::special_values<float>();
  if (function.operand == DType::f32)
    return {std::vector<double>(special.begin(), special.end()), sweep_over(DType::f32, asked.sample)};
  static const std::vector<double> hard = nearest_to_quarter_turns();
  const test::Interval anywhere{-1e6, 1e6};
  const size_t third = static_cast<size_t>(asked.sample.value_or(kRandomDoubles)) / 3;
  const auto* truth = function.truth;
  std::vector<double> numbers =
      test::unary_samples<double>(third, third, third, truth == nullptr ? anywhere : truth->f64_range,
                                  truth == nullptr ? anywhere : truth->center);
  // All of what is hard for functions of angles, and some of it for others.
  const bool of_angles = function.op == Op::sin || function.op == Op::cos || function.op == Op::tan;
  for (size_t i = 0; i < hard.size(); i += of_angles && !asked.sample ? 1 : 64) numbers.push_back(hard[i]);
  return {std::move(numbers)};
}

uint64_t exact_every(const Function& function, const Arguments& arguments, const Asked& asked) {
  if (!std::holds_alternative<Sweep>(arguments)) return 1;
  if (function.operand == DType::f32) return Effort{}.exact_every / (asked.sample ? 64 : 1);
  return asked.sample ? 64 : 1;
}

/// What is wrong, or nothing.
std::string verdict(const Function& function, const Finding& finding,
                    const std::optional<Inversion>& inversion) {
  std::ostringstream text;
  text.precision(17);
  const auto where = [&] { text << " at " << finding.at << ", where it is " << finding.result; };
  if (finding.wrong != 0) {
    text << finding.wrong << " wrong results, one";
    where();
  } else if (!(finding.max_ulp <= function.bound())) {
    text << "more than " << function.bound() << " ULP";
    where();
  } else if (finding.reference_ulp > kMostReferenceUlp) {
    text << "the quick reference is wrong by " << finding.reference_ulp << " ULP: it does not decide";
  } else if (inversion) {
    text << "not monotone between " << inversion->left << " and " << inversion->right;
  }
  return text.str();
}

/// A line of JSON for tests/exhaustive/page.py.
std::string line_of(const Function& function, const Finding& finding, std::optional<bool> monotone,
                    bool sampled, bool right) {
  const auto truth = [](bool value) { return value ? "true" : "false"; };
  std::ostringstream line;
  line << R"({"function": ")" << function.name << R"(", "type": ")" << name_of(function.operand)
       << R"(", "cpu": ")" << current_cpu().name << R"(", "values": )" << finding.values << R"(, "sampled": )"
       << truth(sampled);
  if (function.truth != nullptr) {
    line << R"(, "max_ulp": )" << number_text(std::min(finding.max_ulp, 1e300)) << R"(, "at": ")"
         << number_text(finding.at) << R"(", "bound": )" << number_text(function.bound())
         << R"(, "judged_exactly": )" << finding.judged_exactly << R"(, "reference_ulp": )"
         << number_text(finding.reference_ulp);
  }
  if (monotone) line << R"(, "monotone": )" << truth(*monotone);
  line << R"(, "ok": )" << truth(right) << "}";
  return line.str();
}

bool measure_function(const Function& function, const Asked& asked) {
  Finding finding;
  for (const Arguments& arguments : arguments_for(function, asked)) {
    Finding found = measure(function, arguments, {asked.jobs, exact_every(function, arguments, asked)});
    const bool is_special = function.operand == DType::f32 && !std::holds_alternative<Sweep>(arguments);
    if (is_special) found.values = 0;  // the sweep has them again
    finding.add(found);
  }
  std::optional<Inversion> inversion;
  std::optional<bool> monotone;
  if (is_half(function.operand) && function.truth != nullptr) {
    inversion = find_inversion(function);
    monotone = !inversion;
  }
  const std::string wrong = verdict(function, finding, inversion);
  std::printf("%-9s %-4s %-16s %10llu values  %.4f ULP  %s%s\n", current_cpu().name.c_str(),
              std::string(name_of(function.operand)).c_str(), function.name.c_str(),
              static_cast<unsigned long long>(finding.values), finding.max_ulp,
              wrong.empty() ? "ok" : "WRONG: ", wrong.c_str());
  std::fflush(stdout);
  const bool sampled = asked.sample && !is_half(function.operand);
  keep(asked, line_of(function, finding, monotone, sampled, wrong.empty()));
  return wrong.empty();
}

bool measure_functions(const Asked& asked) {
  bool right = true;
  size_t tried = 0;
  for (const DType dtype : asked.dtypes({DType::f16, DType::bf16, DType::f32, DType::f64})) {
    for (const Function& function : functions_of(dtype)) {
      if (!asked.wants(function.name) && !asked.wants(name_of(function.op))) continue;
      ++tried;
      right &= measure_function(function, asked);
    }
  }
  if (tried == 0) throw std::invalid_argument("no such function or type");
  return right;
}

std::string line_of(const PairsFinding& found, bool sampled) {
  std::ostringstream line;
  line << R"({"pairs": ")" << name_of(found.op) << R"(", "type": ")" << name_of(found.dtype)
       << R"(", "cpu": ")" << current_cpu().name << R"(", "values": )" << found.values << R"(, "lengths": )"
       << found.lengths << R"(, "sampled": )" << (sampled ? "true" : "false") << R"(, "ok": )"
       << (found.wrong == 0 ? "true" : "false") << "}";
  return line.str();
}

bool check_all_pairs(const Asked& asked) {
  bool right = true;
  for (const DType dtype : asked.dtypes({DType::i8, DType::u8})) {
    for (const Op op : binary_ops_of(dtype)) {
      if (!asked.wants(name_of(op))) continue;
      const PairsFinding found = check_pairs(op, dtype, !asked.some);
      right &= found.wrong == 0;
      std::printf("%-9s %-3s %-12s %10llu results, %3llu lengths  %s%s\n", current_cpu().name.c_str(),
                  std::string(name_of(dtype)).c_str(), std::string(name_of(op)).c_str(),
                  static_cast<unsigned long long>(found.values),
                  static_cast<unsigned long long>(found.lengths),
                  found.wrong == 0 ? "ok" : "WRONG: ", found.first_wrong.c_str());
      std::fflush(stdout);
      keep(asked, line_of(found, asked.some));
    }
  }
  return right;
}

/// In a process that has asked for no other processor before.
int run_on(const std::string& cpu, const Asked& asked) {
  setenv("TOKAMAK_CPU", cpu.c_str(), 1);
  setenv("TOKAMAK_DISABLE", "disk-cache", 0);  // no program is compiled twice
  ThreadPool::instance().set_num_threads(1);
  return (asked.command == "pairs" ? check_all_pairs(asked) : measure_functions(asked)) ? 0 : 1;
}

int run_apart(const std::string& cpu, const Asked& asked) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      std::exit(run_on(cpu, asked));
    } catch (const std::exception& error) {
      std::cerr << "exhaustive: " << error.what() << "\n";
      std::exit(2);
    }
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) < 0) throw std::runtime_error("no process for " + cpu);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

int main_of(std::span<char*> words) {
  if (asks_for_help(words)) {
    std::cout << kUsage;
    return 0;
  }
  Asked asked = parse(words);
  if (asked.cpus.size() == 1) return run_on(asked.cpus[0], asked);
  if (asked.cpus.empty()) {
    for (const char* cpu : {"x86-64", "x86-64-v3", "x86-64-v4"})
      if (cpu_named(cpu).runs_here) asked.cpus.emplace_back(cpu);
  }
  int worst = 0;
  for (const std::string& cpu : asked.cpus) worst = std::max(worst, run_apart(cpu, asked));
  return worst;
}

}  // namespace
}  // namespace tokamak::exhaustive

int main(int argc, char** argv) {
  try {
    return tokamak::exhaustive::main_of({argv, static_cast<size_t>(argc)});
  } catch (const std::exception& error) {
    std::cerr << "exhaustive: " << error.what() << "\n";
    return 2;
  }
}
