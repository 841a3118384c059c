#include "ir/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "ir/random_graph.h"
#include "ir/text_literal.h"

namespace tokamak {
namespace {

using ::testing::HasSubstr;

/// The error that parsing throws; fails when there is none.
std::string error_of(std::string_view text) {
  try {
    parse(text, "t.tok");
  } catch (const UserError& error) {
    return error.what();
  }
  ADD_FAILURE() << "parsed:\n" << text;
  return {};
}

std::string body(const std::string& line) {
  return "func @f(%x: f32[4], %b: bool[4]) {\n" + line + "\n  return %x\n}\n";
}

TEST(Text, RoundTripsRandomGraphs) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    const Graph graph = testing::random_graph(seed, {.nodes = 40});
    const std::string text = print(graph);
    const Graph back = parse_one(text);
    ASSERT_EQ(print(back), text) << "seed " << seed;
    ASSERT_EQ(back.parameters().size(), graph.parameters().size());
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      ASSERT_EQ(back.type_of(back.outputs()[i]), graph.type_of(graph.outputs()[i])) << text;
    }
    const std::string typed = print(graph, {.types = true, .locations = true});
    ASSERT_EQ(print(parse_one(typed)), text) << "seed " << seed;
  }
}

/// Every bit pattern of the 16-bit dtypes, and many of the others, survive printing and parsing.
TEST(Text, ValuesAreThoseOfTheWholeText) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    const Graph graph = testing::random_graph(seed, {.nodes = 40});
    const std::string text = print(graph);
    const std::vector<PrintedValue> values = print_values(graph);
    const std::vector<std::string> names = value_names(graph);
    ASSERT_EQ(values.size(), graph.size());
    for (size_t i = 0; i < values.size(); ++i) {
      if (graph.nodes()[i].op == Op::parameter || names[i].empty()) continue;
      ASSERT_EQ(values[i].name, names[i]) << "seed " << seed;
      ASSERT_NE(text.find("  " + names[i] + " = " + values[i].text + "\n"), std::string::npos)
          << names[i] << " = " << values[i].text << "\n"
          << text;
    }
  }
}

/// The graph with a new node for every `neg`, in another order of making.
Graph with_negations_replaced(const Graph& graph) {
  GraphRewriter rewriter(graph);
  for (size_t i = 0; i < graph.size(); ++i) {
    const auto value = static_cast<Value>(i);
    if (graph[value].op != Op::neg) {
      rewriter.copy(value);
      continue;
    }
    const Value same = rewriter(graph[value].inputs[0]);
    const Value twice = rewriter.graph().add(Op::add, {same, same});
    rewriter.map(value, rewriter.graph().add(Op::sub, {same, twice}));
  }
  return rewriter.finish();
}

TEST(Text, NamesLast) {
  const Graph first = parse_one(R"(func @f(%x: f32[4], %7: f32[4]) {
  %0 = exp %x
  %1 = neg %0
  %2 = add %1, 2.0
  return %2
})");
  const LastingNames names(first);
  EXPECT_EQ(names.of(first)[0], "%x");
  const Graph second = with_negations_replaced(first);
  const std::vector<std::string> own = names.of(second);
  const std::string text = print(second, {.names = &own});
  // %1 is the same value; what is new has a number that no argument has either.
  EXPECT_EQ(text,
            "func @f(%x: f32[4], %7: f32[4]) {\n  %0 = exp %x\n  %8 = add %0, %0\n  %1 = sub %0, %8\n"
            "  %2 = add %1, 2.0\n  return %2\n}\n");
  EXPECT_EQ(print(parse_one(text)), print(second));
  const Graph third = with_negations_replaced(second);
  EXPECT_EQ(names.of(third), own);
}

TEST(Text, NamesOfRandomGraphsAreUnique) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    Graph first = testing::random_graph(seed, {.nodes = 40});
    first.forget_rewriting();
    const LastingNames names(first);
    const Graph second = with_negations_replaced(first);
    const std::vector<std::string> own = names.of(second);
    ASSERT_EQ(print(parse_one(print(second, {.names = &own}))), print(second)) << "seed " << seed;
  }
}

TEST(Text, ElementsRoundTripToTheBit) {
  std::mt19937_64 random(1);
  for (DType dtype : kAllDTypes) {
    const size_t size = size_of(dtype);
    const bool small = size <= 2;
    const uint64_t count = dtype == DType::boolean ? 2 : small ? uint64_t{1} << (size * 8) : 20000;
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t bits = small ? i : random() >> (random() % 64);
      Tensor tensor = Tensor::copy_of({dtype, {}}, &bits);
      const std::string text = format_element(tensor, 0);
      const size_t parenthesis = text.find('(');
      LiteralText literal{std::string_view(text).substr(0, parenthesis), {}};
      if (parenthesis != std::string::npos)
        literal.nan_bits = std::stoull(text.substr(parenthesis + 1), nullptr, 16);
      Tensor back(tensor.type());
      ASSERT_EQ(store_literal(literal, dtype, back.mutable_data()), "") << text;
      ASSERT_TRUE(back == tensor) << name_of(dtype) << " " << text << " bits " << bits;
    }
  }
}

TEST(Text, ShowsExtremesInShortestForm) {
  const auto shown = [](DType dtype, double value) { return format_element(scalar_tensor(dtype, value), 0); };
  EXPECT_EQ(shown(DType::f32, 0.1F), "0.1");
  EXPECT_EQ(shown(DType::f64, -0.0), "-0.0");
  EXPECT_EQ(shown(DType::f32, 1e-45), "1e-45");
  EXPECT_EQ(shown(DType::f64, 5e-324), "5e-324");
  EXPECT_EQ(shown(DType::f16, 65504), "65500.0");
  EXPECT_EQ(shown(DType::bf16, 0.1), "0.1");
  EXPECT_EQ(shown(DType::f64, -INFINITY), "-inf");
  EXPECT_EQ(shown(DType::f16, NAN), "nan");
  EXPECT_EQ(format_element(scalar_tensor(DType::i64, std::numeric_limits<int64_t>::min()), 0),
            "-9223372036854775808");
  EXPECT_EQ(format_element(scalar_tensor(DType::u64, int64_t{-1}), 0), "18446744073709551615");
}

TEST(Text, KeepsNamesThatAreNotWords) {
  Graph graph("<lambda> \"q\"\n");
  const Value x = graph.add_parameter("an odd\tname", {DType::f32, {2}});
  const Value zero = graph.add_parameter("0", {DType::f32, {2}});
  const Value again = graph.add_parameter("0", {DType::f32, {2}});
  graph.set_outputs({graph.add(Op::add, {x, zero}), again});
  const Graph back = parse_one(print(graph));
  EXPECT_EQ(back.name(), graph.name());
  EXPECT_EQ(back.parameter_name(0), "an odd\tname");
  EXPECT_EQ(back.parameter_name(1), "0");
  EXPECT_EQ(back.parameter_name(2), "0_1");
}

TEST(Text, LiteralsTakeTheirDtypeFromTheOtherOperands) {
  const Graph graph = parse_one(
      "func @f(%x: bf16[4], %i: u8[2]) {\n"
      "  %0 = max %x, 0  // an integer will do for a float\n"
      "  %1 = select true, %0, -inf\n"
      "  %2 = add %i, 255\n"
      "  %3 = gather %1, i32(3) {axis=0, mode=clamp}\n"
      "  return %2, %3, f64(0.1), false\n}");
  EXPECT_EQ(graph.type_of(graph.outputs()[1]), (TensorType{DType::bf16, {}}));
  EXPECT_EQ(graph.type_of(graph.outputs()[2]), (TensorType{DType::f64, {}}));
  EXPECT_EQ(graph.type_of(graph.outputs()[3]), (TensorType{DType::boolean, {}}));
}

TEST(Text, EqualInlineConstantsAreOneNode) {
  const Graph graph = parse_one("func @f(%x: f32[4]) {\n %0 = add %x, 1\n %1 = mul %0, 1.0\n return %1\n}");
  EXPECT_EQ(graph.size(), 4U);
}

TEST(Text, ErrorsNameThePlace) {
  EXPECT_THAT(error_of(""), HasSubstr("expected 'func', found the end of the text\n  at t.tok:1:1"));
  EXPECT_THAT(error_of(body("  %0 = sinus %x")), HasSubstr("no operation 'sinus'\n  at t.tok:2:8"));
  EXPECT_THAT(error_of(body("  %0 = exp %y")), HasSubstr("%y is not defined here\n  at t.tok:2:12"));
  EXPECT_THAT(error_of(body("  %0 = exp %x\n  %0 = exp %x")),
              HasSubstr("%0 is defined twice\n  at t.tok:3:3"));
  EXPECT_THAT(error_of(body("  %0 = add %x")),
              HasSubstr("add takes 2 operands, but 1 is given\n  at t.tok:2:8"));
  EXPECT_THAT(error_of(body("  %0 = add %x, %b")), HasSubstr("t.tok:2:8, in f"));
  EXPECT_THAT(error_of(body("  %0 = exp 1.0")), HasSubstr("write it as f32(...)\n  at t.tok:2:12"));
  EXPECT_THAT(error_of(body("  %0 = exp %x : f32[5]")),
              HasSubstr("exp makes f32[4], not f32[5]\n  at t.tok:2:17"));
  EXPECT_THAT(error_of(body("  %0 = reverse %x {axes=[0], axes=[0]}")), HasSubstr("'axes' is given twice"));
  EXPECT_THAT(error_of(body("  %0 = reverse %x {axe=[0]}")), HasSubstr("no attribute 'axe'"));
  EXPECT_THAT(error_of(body("  %0 = reverse %x")), HasSubstr("t.tok:2:8"));
  EXPECT_THAT(error_of(body("  %0 = constant f32[3] [1, 2]")),
              HasSubstr("f32[3] has 3 elements, but 2 are given"));
  EXPECT_THAT(error_of(body("  %0 = constant i8[1] [300]")),
              HasSubstr("'300' does not fit i8\n  at t.tok:2:24"));
  EXPECT_THAT(error_of(body("  %0 = constant u8[] -1")), HasSubstr("'-1' does not fit u8"));
  EXPECT_THAT(error_of(body("  %0 = constant f16[] 65520.0")), HasSubstr("does not fit f16"));
  EXPECT_THAT(error_of(body("  %0 = constant f32[] 1e999")), HasSubstr("does not fit f32"));
  EXPECT_THAT(error_of(body("  %0 = constant i32[] 1.5")), HasSubstr("'1.5' is not a literal of i32"));
  EXPECT_THAT(error_of(body("  %0 = constant f32[] 1.5.5")), HasSubstr("is not a literal of f32"));
  EXPECT_THAT(error_of(body("  %0 = parameter")), HasSubstr("t.tok:2:8"));
  EXPECT_THAT(error_of("func @f(%x: f32[4]) { }"), HasSubstr("without 'return'"));
  EXPECT_THAT(error_of("func @f(%x: f32[4]) { return }"),
              HasSubstr("returns at least one value\n  at t.tok:1:23"));
  EXPECT_THAT(error_of("func @f(%x: f32[4]) { return %x"), HasSubstr("expected '}'"));
  EXPECT_THAT(error_of("func @f(%x: f33[4]) {"), HasSubstr("'f33' is not a dtype"));
  EXPECT_THAT(error_of("func @f(%x: f32[-4]) {"), HasSubstr("negative"));
  EXPECT_THAT(error_of("func @f(%x: f32[4], %x: f32[4]) {"), HasSubstr("%x is defined twice"));
  EXPECT_THAT(error_of("func @f(%x: f32[]) { return %x }\nfunc @f(%x: f32[]) { return %x }"),
              HasSubstr("two functions named @f\n  at t.tok:2:1"));
}

TEST(Text, PathologicalInputsAreErrors) {
  const std::string big(100000, '9');
  EXPECT_THAT(error_of("func @f(%x: f32[" + big + "]) {"), HasSubstr("does not fit i64"));
  EXPECT_THAT(error_of("func @f(%x: f32[4294967296,4294967296]) {"),
              HasSubstr("more elements than can be counted"));
  EXPECT_THAT(error_of("func @f(%x: f32[0,4294967296,4294967296]) {"),
              HasSubstr("more elements than can be counted"));
  EXPECT_THAT(error_of(body("  %0 = constant f32[1000000000000] 1.0")), HasSubstr("at most"));
  std::string many;
  for (int i = 0; i < 100; ++i) many += "  %" + std::to_string(i) + " = constant f32[4194304] 1.0\n";
  EXPECT_THAT(error_of(body(many)), HasSubstr("at most"));
  EXPECT_THAT(error_of(body("  %0 = constant f32[1000000000000] [1.0]")), HasSubstr("1 are given"));
  EXPECT_THAT(error_of(body("  %0 = constant f32[2] " + std::string(100000, '['))),
              HasSubstr("expected a number"));
  EXPECT_THAT(error_of(body("  %0 = exp " + std::string(100000, '('))), HasSubstr("t.tok:2:"));
  EXPECT_THAT(error_of(std::string_view("func @f\0(", 9)), HasSubstr("'\\x00'"));
  EXPECT_THAT(error_of("func @\"f"), HasSubstr("not closed"));
  EXPECT_THAT(error_of(body("  %0 = broadcast %x {shape=[4611686018427387904,4611686018427387904,4]}")),
              HasSubstr("t.tok:2:8"));
  EXPECT_THAT(error_of(body("  %0 = iota {shape=[-1], axis=0, dtype=f32}")), HasSubstr("t.tok:2:8"));
  EXPECT_THAT(error_of(body(
                  "  %0 = pad %x, 0 {low=[9223372036854775807], high=[9223372036854775807], interior=[0]}")),
              HasSubstr("t.tok:2:8"));
  EXPECT_THAT(error_of(body("  %0 = slice %x {starts=[0], limits=[4], steps=[0]}")), HasSubstr("t.tok:2:8"));
  EXPECT_THAT(error_of(body("  %0 = pad %x, 0 {low=[6917529027641081856], high=[0], interior=[0]}")),
              HasSubstr("t.tok:2:8"));
}

/// Whatever is done to a valid text, parsing gives graphs or a UserError with a place.
TEST(Text, MutatedTextsNeverCrash) {
  std::mt19937 random(7);
  const auto pick = [&](size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random); };
  const std::string pieces[] = {"%",      "[",    "]",
                                "{",      "}",    ",",
                                "=",      "-",    "9223372036854775807",
                                "1e400",  "nan(", "func",
                                "return", "f32[", "\"",
                                "\\x",    "//",   "true",
                                "axes",   "\n",   std::string(1, '\0')};
  size_t errors = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string text = print(testing::random_graph(static_cast<uint32_t>(i % 50), {.nodes = 15}));
    for (size_t change = pick(4) + 1; change > 0 && !text.empty(); --change) {
      const size_t at = pick(text.size());
      switch (pick(6)) {
        case 0:
          text.erase(at, pick(8) + 1);
          break;
        case 1:
          text.insert(at, pieces[pick(std::size(pieces))]);
          break;
        case 2:
          text[at] = static_cast<char>(pick(256));
          break;
        case 3:
          text.resize(at);
          break;
        case 4:
          text.insert(at, text.substr(pick(text.size()), pick(40)));
          break;
        default:
          std::swap(text[at], text[pick(text.size())]);
          break;
      }
    }
    try {
      for (const Graph& graph : parse(text, "m.tok")) print(graph);
    } catch (const Error& error) {
      ++errors;
      ASSERT_TRUE(dynamic_cast<const UserError*>(&error) != nullptr) << error.what() << "\n" << text;
      ASSERT_EQ(error.where().file, "m.tok") << error.what();
      ASSERT_NE(error.where().line, 0U) << error.what();
    }
  }
  EXPECT_GT(errors, 1000U);
}

TEST(Text, LongChainsAreLinear) {
  std::string text = "func @f(%x: f32[4]) {\n  %0 = exp %x\n";
  constexpr int kLength = 100000;
  for (int i = 1; i < kLength; ++i) {
    text += "  %" + std::to_string(i) + " = add %" + std::to_string(i - 1) + ", " + std::to_string(i % 7) +
            ".0\n";
  }
  text += "  return %" + std::to_string(kLength - 1) + "\n}\n";
  EXPECT_EQ(print(parse_one(text)), text);
}

}  // namespace
}  // namespace tokamak
