// Programs and objects of the disk cache with whatever may have happened to them, behind a checksum that is
// right: changes made up to what was compiled, or bytes that are made up. libFuzzer makes them up (make
// fuzz-kept); the first byte says of what.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "cache/disk_cache.h"
#include "codegen/link.h"
#include "driver/compile.h"
#include "driver/kept_program/kept_program.h"
#include "ir/text.h"
#include "support/cpu.h"

namespace tokamak {
namespace {

/// Steps with nests and scratch, numbers that kernels share code by, products of each kind, chains of steps.
constexpr const char* kPrograms[] = {
    R"(
func @sum(%x: f32[1000,300], %y: f32[300]) {
  %0 = mul %x, %y
  %1 = exp %0
  %2 = reduce_sum %1 {axes=[0,1]}
  return %1, %2
}
)",
    R"(
func @shared(%x: f32[100], %y: f32[200], %z: f32[300]) {
  %0 = exp %x
  %1 = exp %y
  %2 = exp %z
  return %0, %1, %2, %x, %0
}
)",
    R"(
func @layers(%x: f32[32,64], %b: f32[128], %v: f32[128,16]) {
  %0 = iota {shape=[64,128], axis=0, dtype=f32}
  %1 = dot %x, %0 {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0]}
  %2 = add %1, %b
  %3 = max %2, 0.0
  %4 = dot %3, %v {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0]}
  return %4
}
)",
    R"(
func @attention(%q: f32[4,64,16], %k: f32[4,64,16], %v: f32[4,64,16]) {
  %0 = dot %q, %k {lhs_batch=[0], rhs_batch=[0], lhs_contract=[2], rhs_contract=[2]}
  %1 = iota {shape=[64,64], axis=0, dtype=i32}
  %2 = iota {shape=[64,64], axis=1, dtype=i32}
  %3 = ge %1, %2
  %4 = select %3, %0, -1e30
  %5 = reduce_max %4 {axes=[2]}
  %6 = reshape %5 {shape=[4,64,1]}
  %7 = sub %4, %6
  %8 = exp %7
  %9 = reduce_sum %8 {axes=[2]}
  %10 = reshape %9 {shape=[4,64,1]}
  %11 = div %8, %10
  %12 = dot %11, %v {lhs_batch=[0], rhs_batch=[0], lhs_contract=[2], rhs_contract=[1]}
  return %12
}
)",
    R"(
func @constant(%x: f32[4,3]) {
  %0 = constant f32[3,2] [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
  %1 = dot %x, %0 {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0]}
  %2 = constant f32[2] [0.5, 2.0]
  %3 = mul %1, %2
  return %3, %x
}
)",
};

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

/// A program as it is kept, and an object of its code.
struct Kept {
  std::string program;
  std::string object;
};

Kept kept_of(const Graph& graph) {
  const Compiled compiled = compile(graph, std::vector<Layout>(graph.parameters().size()));
  std::optional<std::string> program = encode_program(*compiled.program, 1);
  if (!program) fail("a program is not kept");
  DiskCache::finish();
  std::string object;
  for (const Program::Step& step : compiled.program->steps) {
    if (step.code == nullptr) continue;
    object = DiskCache::instance()->find(step.code->kept()->key).value();
    object.erase(0, object.find("\x7f"
                                "ELF"));
  }
  return {std::move(*program), std::move(object)};
}

/// Of all programs; their code is in the disk cache of this process.
const std::vector<Kept>& all_kept() {
  static const std::vector<Kept> all = [] {
    std::vector<Kept> made;
    for (const char* text : kPrograms) made.push_back(kept_of(parse_one(text)));
    return made;
  }();
  return all;
}

/// Changes of four bytes each: where, what, with what.
std::string changed(std::string program, std::string_view changes) {
  for (; changes.size() >= 4; changes.remove_prefix(4)) {
    const auto byte = [&](size_t i) { return static_cast<uint8_t>(changes[i]); };
    const size_t at = (byte(0) | size_t{byte(1)} << 8) % (program.size() + 1);
    const size_t left = program.size() - at;
    switch (byte(2) % 8) {
      case 0:
        program.insert(at, byte(3) % 32, changes[3]);
        break;
      case 1:
        program.erase(at, byte(3));
        break;
      case 2:
        program.resize(at);
        break;
      case 3: {  // a number of eight bytes: a small one, a negative one, or a large one
        const uint64_t number = byte(3) < 128 ? byte(3) : ~uint64_t{0} >> (byte(3) % 64);
        std::memcpy(program.data() + at, &number, std::min(left, sizeof number));
        break;
      }
      case 4:  // the same again
        program.insert(at, program.substr(at, byte(3)));
        break;
      default:
        if (left > 0) program[at] = changes[3];
    }
  }
  return program;
}

/// It is the program that it would be kept as, or none.
void try_program(std::string_view bytes) {
  const std::optional<KeptProgram> found = decode_program(bytes, current_cpu());
  if (found && encode_program(*found->program, found->kernels) != bytes) fail("read and kept, it is another");
}

/// It is linked or refused.
void try_object(std::string_view bytes) {
  try {
    codegen::link_object(bytes, "object", {});
  } catch (const InternalError&) {
  }
}

}  // namespace
}  // namespace tokamak

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tokamak;  // NOLINT: only here
  if (size == 0) return 0;
  const std::vector<Kept>& kept = all_kept();
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t which = data[0] / 4 % kept.size();
  switch (data[0] % 4) {
    case 0:
      try_program(rest);
      break;
    case 1:
      try_object(rest);
      break;
    case 2:
      try_program(changed(kept[which].program, rest));
      break;
    default:
      try_object(changed(kept[which].object, rest));
  }
  return 0;
}
