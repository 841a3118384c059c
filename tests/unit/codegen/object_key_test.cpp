#include "codegen/object_key.h"

#include "codegen/harness.h"

namespace tokamak {
namespace {

using codegen::object_key;

/// out[i] = -in[i]
TestKernel negation() {
  TestKernel k("negation");
  const BufferId in = k.in(DType::f32, {64});
  const BufferId out = k.out(DType::f32, {64});
  const LoopVar i = k.var("i", 64);
  const ValueId x = k.value(DType::f32);
  const ValueId y = k.value(DType::f32);
  Nest nest;
  nest.root =
      *k.loop(LoopKind::parallel, i, 1,
              {Load{x, in, {Index::of(i)}, {}}, Compute{y, Op::neg, {x}}, Store{out, {Index::of(i)}, y}});
  k.nests.push_back(nest);
  return k;
}

/// The key after a change, which must not be the one before.
template <class Change>
void expect_another_key(const char* what, Change change) {
  TestKernel kernel = negation();
  Cpu cpu = cpu_named("native");
  const std::optional<Digest> before = object_key(kernel, cpu);
  ASSERT_TRUE(before);
  EXPECT_EQ(object_key(negation(), cpu_named("native")), before);
  change(kernel, cpu);
  EXPECT_NE(object_key(kernel, cpu), before) << what;
}

Loop& root(TestKernel& kernel) { return kernel.nests[0].root; }

TEST(ObjectKey, TellsKernelsApart) {
  expect_another_key("name", [](TestKernel& k, Cpu&) { k.name = "other"; });
  expect_another_key("extent", [](TestKernel& k, Cpu&) { root(k).extent = 63; });
  expect_another_key("lanes", [](TestKernel& k, Cpu&) { root(k).lanes = 8; });
  expect_another_key("bound", [](TestKernel& k, Cpu&) { root(k).bound = Index(0); });
  expect_another_key("kind", [](TestKernel& k, Cpu&) { root(k).kind = LoopKind::serial; });
  expect_another_key("op", [](TestKernel& k, Cpu&) { std::get<Compute>(root(k).body[1]).op = Op::abs; });
  expect_another_key("index",
                     [](TestKernel& k, Cpu&) { std::get<Load>(root(k).body[0]).index[0].constant = 1; });
  expect_another_key("guard", [](TestKernel& k, Cpu&) {
    std::get<Load>(root(k).body[0]).guard = {{Index(0), 0, 1}};
  });
  expect_another_key("streamed",
                     [](TestKernel& k, Cpu&) { std::get<Store>(root(k).body[2]).non_temporal = true; });
  expect_another_key("dtype", [](TestKernel& k, Cpu&) { k.values[0] = DType::i32; });
  expect_another_key("strides", [](TestKernel& k, Cpu&) { k.buffers[0].strides = {8}; });
  expect_another_key("aligned", [](TestKernel& k, Cpu&) { k.buffers[0].aligned = true; });
  expect_another_key("relaxed", [](TestKernel& k, Cpu&) { k.relaxed_math = true; });
  expect_another_key("checked", [](TestKernel& k, Cpu&) { k.bounds_checked = true; });
  expect_another_key("fewer statements", [](TestKernel& k, Cpu&) { root(k).body.pop_back(); });
}

TEST(ObjectKey, TellsBitsOfNumbersApart) {
  const auto key_with = [](DType dtype, double number) {
    TestKernel kernel = negation();
    root(kernel).body.push_back(Literal{kernel.value(dtype), scalar_tensor(dtype, number)});
    return *object_key(kernel, cpu_named("native"));
  };
  EXPECT_NE(key_with(DType::f32, 0.0), key_with(DType::f32, -0.0));
  EXPECT_NE(key_with(DType::f32, 1.0), key_with(DType::f64, 1.0));
  EXPECT_NE(key_with(DType::f64, 0.1), key_with(DType::f64, 0.1 + 1e-17 * 4));
}

TEST(ObjectKey, TellsProcessorsApart) {
  expect_another_key("level", [](TestKernel&, Cpu& cpu) { cpu.name = "x86-64"; });
  expect_another_key("fma", [](TestKernel&, Cpu& cpu) { cpu.fma = !cpu.fma; });
  expect_another_key("vectors", [](TestKernel&, Cpu& cpu) { cpu.vector_bytes = 128; });
  EXPECT_NE(object_key("lanewise", cpu_named("native")), object_key("lanewise", cpu_named("x86-64-v3")));
}

}  // namespace
}  // namespace tokamak
