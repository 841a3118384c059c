#include "fusion/hidden.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "fusion/fuse.h"
#include "ir/text.h"

namespace tokamak {
namespace {

using ::testing::ElementsAre;

/// Attention of 100 queries and 80 keys whose scores %s become %m by `mask`.
Graph attention(const std::string& mask, const std::string& parameters = "") {
  return parse_one("func @f(%q: f32[4,100,8], %k: f32[4,8,80], %v: f32[4,80,16]" + parameters + R"() {
    %p = dot %q, %k {lhs_batch=[0], rhs_batch=[0], lhs_contract=[2], rhs_contract=[1]}
    %s = mul %p, 0.5
    %row = iota {axis=0, shape=[100,80], dtype=i32}
    %column = iota {axis=1, shape=[100,80], dtype=i32}
    %causal = le %column, %row
)" + mask + R"(
    %greatest = reduce_max %m {axes=[2]}
    %greatest1 = reshape %greatest {shape=[4,100,1]}
    %shifted = sub %m, %greatest1
    %e = exp %shifted
    %total = reduce_sum %e {axes=[2]}
    %total1 = reshape %total {shape=[4,100,1]}
    %o = dot %e, %v {lhs_batch=[0], rhs_batch=[0], lhs_contract=[2], rhs_contract=[1]}
    %result = div %o, %total1
    return %result
  })");
}

struct Found {
  bool masked = false;
  std::optional<VisibleColumns> visible;

  std::vector<int64_t> row(size_t i) const { return {visible->rows[i].first, visible->rows[i].end}; }
};

Found find(const Graph& graph) {
  const FusionResult fusion = fuse(graph, {});
  EXPECT_EQ(fusion.kernels.size(), 1U) << "attention is one kernel";
  const FusedKernel& kernel = fusion.kernels.back();
  const std::optional<HiddenScores> hidden = find_hidden_scores(kernel);
  if (!hidden) return {};
  return {true, find_visible_columns(*kernel.feeder, *hidden, [&](size_t input) {
            return graph.constant_value(kernel.feeder->inputs[input]);
          })};
}

TEST(HiddenScores, OfPositions) {
  const Found found = find(attention("%m = select %causal, %s, -inf"));
  ASSERT_TRUE(found.visible);
  EXPECT_TRUE(std::isinf(found.visible->largest_product));
  EXPECT_THAT(found.row(0), ElementsAre(0, 1));
  EXPECT_THAT(found.row(41), ElementsAre(0, 42));
  EXPECT_THAT(found.row(99), ElementsAre(0, 80));
}

TEST(HiddenScores, WhereTheMaskIsTrue) {
  const Found found = find(attention(R"(
    %after = add %row, 3
    %future = ge %column, %after
    %m = select %future, -inf, %s)"));
  ASSERT_TRUE(found.visible);
  EXPECT_THAT(found.row(10), ElementsAre(0, 13));
}

TEST(HiddenScores, OfWindows) {
  const Found found = find(attention(R"(
    %distance = sub %row, %column
    %near = lt %distance, 7
    %window = bit_and %near, %causal
    %m = select %window, %s, -inf)"));
  ASSERT_TRUE(found.visible);
  EXPECT_THAT(found.row(3), ElementsAre(0, 4));
  EXPECT_THAT(found.row(50), ElementsAre(44, 51));
  EXPECT_LE(found.visible->rows[99].end, found.visible->rows[99].first) << "it sees nothing";
}

TEST(HiddenScores, BehindATransposedMask) {
  const Found found = find(attention(R"(
    %key = iota {shape=[80,100], axis=0, dtype=i64}
    %query = iota {shape=[80,100], axis=1, dtype=i64}
    %future = gt %key, %query
    %turned = transpose %future {permutation=[1,0]}
    %m = select %turned, -inf, %s)"));
  ASSERT_TRUE(found.visible);
  EXPECT_THAT(found.row(41), ElementsAre(0, 42));
  EXPECT_THAT(found.row(99), ElementsAre(0, 80));
}

TEST(HiddenScores, OfTwoMasksAreThoseOfEither) {
  const Found found = find(attention(R"(
    %some = select %mask, %s, -inf
    %m = select %causal, %some, -inf)",
                                     ", %mask: bool[4,1,80]"));
  ASSERT_TRUE(found.visible);
  EXPECT_THAT(found.row(41), ElementsAre(0, 42));
}

TEST(HiddenScores, BehindNumbersDependOnTheScores) {
  Found found = find(attention("%m = select %causal, %s, -1e9"));
  ASSERT_TRUE(found.visible);
  EXPECT_GT(found.visible->largest_product, 1e8);
  EXPECT_LT(found.visible->largest_product, 1e9);
  found = find(attention(R"(
    %added = select %causal, f32(0.0), -inf
    %m = add %s, %added)"));
  ASSERT_TRUE(found.visible);
  EXPECT_THAT(found.row(41), ElementsAre(0, 42));
  EXPECT_EQ(found.visible->largest_product, 1e37);
}

TEST(HiddenScores, OfRowsThatMayBeEmptyAreNoneBehindNumbers) {
  // Every column of such a row has the same weight.
  const Found found = find(attention(R"(
    %seen = bit_and %causal, %mask
    %m = select %seen, %s, -1e9)",
                                     ", %mask: bool[4,1,80]"));
  EXPECT_TRUE(found.masked);
  EXPECT_FALSE(found.visible);
}

TEST(HiddenScores, AreNoneWhereTheMaskIsUnknownOrNotFarBelow) {
  EXPECT_FALSE(find(attention("%m = select %mask, %s, -inf", ", %mask: bool[100,80]")).visible);
  EXPECT_FALSE(find(attention("%m = select %causal, %s, -5.0")).masked);
  EXPECT_FALSE(find(attention("%m = max %s, -1e9")).masked);
  EXPECT_FALSE(find(attention("%m = add %s, %bias", ", %bias: f32[100,80]")).visible);
}

}  // namespace
}  // namespace tokamak
