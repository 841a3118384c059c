// Objects linked by hand: what the code generator writes is tried by every other test; here is what it rarely
// writes, and what it never would.

#include "codegen/link.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <random>

#include "tokamak/errors.h"

namespace tokamak::codegen {
namespace {

/// An object file of all that objects may have, made by the assembler: code, constants, variables, memory
/// that begins with zeros, references of each kind, inside and outside.
std::string all_kinds() {
  static const std::string object = [] {
    const std::string base = ::testing::TempDir() + "tokamak_link_" + std::to_string(getpid());
    std::ofstream(base + ".s") << R"(
      .text
      .globl answer
      .type answer, @function
    answer:
      push %rbx
      call outer@PLT
      mov outer@GOTPCREL(%rip), %rbx
      mov %eax, sum(%rip)
      call *%rbx
      add sum(%rip), %eax
      add seven(%rip), %eax
      mov inner@GOTPCREL(%rip), %rbx
      call *%rbx
      mov table(%rip), %rcx
      add (%rcx), %eax
      movslq relative(%rip), %rcx
      lea relative(%rip), %rbx
      add (%rbx,%rcx), %eax
      add counted(%rip), %eax
      incl counted(%rip)
      pop %rbx
      ret
    .size answer, .-answer
      .type inner, @function
    inner:
      add $100, %eax
      ret
      .section .rodata
      .balign 64
    seven: .long 7
    relative: .long seven - relative
      .balign 8
      .data
    table: .quad seven
    counted: .long 10000
      .bss
      .balign 32
    sum: .zero 4
    )";
    const std::string command = "as -o " + base + ".o " + base + ".s";
    if (std::system(command.c_str()) != 0) return std::string();
    std::ifstream in(base + ".o", std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }();
  return object;
}

int outer() { return 1000; }
const Externals kExternals = {{"outer", reinterpret_cast<void*>(&outer)}};

int call(const LinkedObject& linked) { return reinterpret_cast<int (*)()>(linked.address_of("answer"))(); }

class Linking : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_FALSE(all_kinds().empty()) << "the assembler, which compilers need as well, made nothing";
  }
};

TEST_F(Linking, ReferencesOfEveryKindLeadWhereTheyShould) {
  const auto linked = link_object(all_kinds(), "all", kExternals);
  EXPECT_EQ(call(*linked), 1000 + 1000 + 7 + 100 + 7 + 7 + 10000);
  EXPECT_EQ(call(*linked), 1000 + 1000 + 7 + 100 + 7 + 7 + 10001) << "variables can be written";
  const auto other = link_object(all_kinds(), "all", kExternals);
  EXPECT_EQ(call(*other), 1000 + 1000 + 7 + 100 + 7 + 7 + 10000) << "each object has variables of its own";
}

TEST_F(Linking, WhatIsNotThereIsAnError) {
  EXPECT_THROW(link_object(all_kinds(), "all", {}), InternalError) << "nobody has a function `outer`";
  EXPECT_THROW((void)link_object(all_kinds(), "all", kExternals)->address_of("question"), InternalError);
  EXPECT_THROW(link_object({}, "empty", kExternals), InternalError);
}

TEST_F(Linking, CodeAndConstantsCannotBeWritten) {
  const auto linked = link_object(all_kinds(), "all", kExternals);
  EXPECT_DEATH(*static_cast<volatile char*>(linked->address_of("answer")) = 0, "");
}

TEST_F(Linking, NoBytesMakeItReadOrWriteElsewhere) {
  const std::string whole = all_kinds();
  for (size_t length = 0; length < whole.size(); ++length) {
    const std::vector<char> part(whole.begin(), whole.begin() + static_cast<long>(length));
    EXPECT_THROW(link_object(part, "part", kExternals), InternalError) << length;
  }
  std::mt19937_64 random(0);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string changed = whole;
    for (uint64_t changes = 1 + random() % 4; changes > 0; --changes)
      changed[random() % changed.size()] = static_cast<char>(random());
    try {
      (void)link_object(changed, "changed", kExternals);
    } catch (const InternalError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace tokamak::codegen
