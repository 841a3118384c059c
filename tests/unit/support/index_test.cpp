#include "support/index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tokamak {
namespace {

constexpr int64_t kExtents[] = {12, 7, 120};
int64_t extent(LoopVar var) { return kExtents[static_cast<size_t>(var)]; }

int64_t floor_div(int64_t a, int64_t b) { return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0); }

/// The value of an index, checking on the way that nothing negative is divided. `data` is the only value.
int64_t evaluate(const Index& index, const int64_t* point, int64_t data = 0) {
  int64_t sum = index.constant;
  for (const IndexTerm& term : index.terms) {
    int64_t atom = 0;
    if (const auto* var = std::get_if<LoopVar>(&term.atom)) atom = point[static_cast<size_t>(*var)];
    if (std::holds_alternative<ValueId>(term.atom)) atom = data;
    if (const auto* q = std::get_if<Quotient>(&term.atom)) {
      const int64_t numerator = evaluate(*q->numerator, point, data);
      EXPECT_GE(numerator, 0);
      atom = numerator / q->divisor;
    }
    if (const auto* r = std::get_if<Remainder>(&term.atom)) {
      const int64_t numerator = evaluate(*r->numerator, point, data);
      EXPECT_GE(numerator, 0);
      atom = numerator % r->divisor;
    }
    sum += term.coefficient * atom;
  }
  return sum;
}

Index random_index(std::mt19937& random) {
  auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  Index index(pick(-40, 160));
  for (uint32_t var = 0; var < 3; ++var) index = index + Index::of(LoopVar{var}) * pick(-6, 6);
  if (pick(0, 1) != 0) index = index + divide(Index::of(LoopVar{2}), pick(2, 9), extent) * pick(-3, 9);
  if (pick(0, 1) != 0)
    index = index + modulo(Index::of(LoopVar{2}) + Index(pick(0, 9)), pick(2, 9), extent) * pick(-3, 3);
  return index;
}

bool holds(const Condition& condition, const int64_t* point) {
  const int64_t value = evaluate(condition.index, point);
  return condition.low <= value && value < condition.high;
}

bool holds(const Guard& guard, const int64_t* point) {
  return std::ranges::all_of(guard, [&](const Condition& one) { return holds(one, point); });
}

TEST(Guards, AreNarrowedAndDecideConditions) {
  std::mt19937 random(2);
  auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  const Index indices[] = {Index::of(LoopVar{0}), Index::of(LoopVar{1}) * 2,
                           Index::of(LoopVar{0}) + Index::of(LoopVar{1}),
                           modulo(Index::of(LoopVar{2}), 5, extent)};
  auto condition = [&] {
    const int low = pick(-4, 12);
    return Condition{indices[pick(0, 3)] + Index(pick(-3, 3)), low, low + pick(0, 9)};
  };
  int decisions = 0;
  for (int round = 0; round < 3000; ++round) {
    const Guard a{condition(), condition()};
    const Guard b{condition(), condition()};
    const Condition asked = condition();
    const Guard narrow = both(a, b);
    const std::optional<bool> answer = decided(asked, narrow, extent);
    decisions += answer.has_value() ? 1 : 0;
    for (int64_t i = 0; i < kExtents[0]; ++i) {
      for (int64_t j = 0; j < kExtents[1]; ++j) {
        const int64_t point[] = {i, j, pick(0, 119)};
        ASSERT_EQ(holds(narrow, point), holds(a, point) && holds(b, point));
        ASSERT_TRUE(!implies(a, b) || !holds(a, point) || holds(b, point));
        ASSERT_TRUE(!answer || !holds(narrow, point) || holds(asked, point) == *answer);
      }
    }
  }
  EXPECT_GT(decisions, 300);
}

TEST(Guards, OfOneIndexAreOneCondition) {
  const Index i = Index::of(LoopVar{0});
  const Guard narrow = both({{i + Index(1), 0, 10}}, {{i, 2, 12}});
  ASSERT_EQ(narrow.size(), 1U);
  EXPECT_EQ(narrow[0].low, 3);
  EXPECT_EQ(narrow[0].high, 10);
  EXPECT_TRUE(implies(narrow, Condition{i - Index(1), 1, 8}));
  EXPECT_EQ(decided({i, 9, 20}, narrow, extent), false);
  EXPECT_EQ(decided({i, 5, INT64_MAX}, narrow, extent), std::nullopt);
  EXPECT_EQ(decided({i, 0, 12}, {}, extent), true);
}

TEST(IndexAlgebra, DividesAndTakesRemaindersAsFloorDoes) {
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    const Index index = random_index(random);
    const int64_t divisor = std::uniform_int_distribution<int>(1, 30)(random);
    const Index quotient = divide(index, divisor, extent);
    const Index remainder = modulo(index, divisor, extent);
    const Index whole = quotient * divisor + remainder;
    for (int i = 0; i < 20; ++i) {
      int64_t point[3];
      for (size_t var = 0; var < 3; ++var)
        point[var] = std::uniform_int_distribution<int64_t>(0, kExtents[var] - 1)(random);
      const int64_t value = evaluate(index, point);
      EXPECT_EQ(evaluate(quotient, point), floor_div(value, divisor));
      EXPECT_EQ(evaluate(remainder, point), value - divisor * floor_div(value, divisor));
      EXPECT_EQ(evaluate(whole, point), value);
    }
  }
}

/// Where data takes part, only what is not negative is divided: no access happens elsewhere.
TEST(IndexAlgebra, DividesDataAsFloorDoes) {
  std::mt19937 random(2);
  auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (int round = 0; round < 3000; ++round) {
    const Index index =
        random_index(random) + Index::of(ValueId{7}) * (pick(0, 1) == 0 ? pick(1, 30) : pick(-9, -1));
    const int64_t divisor = pick(1, 30);
    const Index quotient = divide(index, divisor, extent);
    const Index remainder = modulo(index, divisor, extent);
    for (int i = 0; i < 20; ++i) {
      int64_t point[3];
      for (size_t var = 0; var < 3; ++var) point[var] = pick(0, static_cast<int>(kExtents[var]) - 1);
      const int64_t data = pick(0, 40);
      const int64_t value = evaluate(index, point, data);
      if (value < 0) continue;
      EXPECT_EQ(evaluate(quotient, point, data), value / divisor);
      EXPECT_EQ(evaluate(remainder, point, data), value % divisor);
    }
  }
}

TEST(IndexAlgebra, UndoesAReshape) {
  const Index i = Index::of(LoopVar{2});
  const Index back = divide(i, 15, extent) * 15 + modulo(i, 15, extent);
  EXPECT_EQ(back, i);
  const Index three =
      divide(i, 40, extent) * 40 + modulo(divide(i, 8, extent), 5, extent) * 8 + modulo(i, 8, extent);
  EXPECT_EQ(three, i);
}

TEST(IndexAlgebra, KnowsWhatAGuardSays) {
  const Index i = Index::of(LoopVar{2});
  for (int64_t start : {0, 1, 2, 7}) {
    const Index inside = i - Index(start);
    const Guard guard{{modulo(inside, 3, extent), 0, 1}};
    EXPECT_EQ(where_holds(divide(inside, 3, extent) * 3 + Index(start), guard), i);
    EXPECT_EQ(where_holds(divide(inside, 3, extent) * 6 + Index(1), guard), i * 2 - Index(2 * start - 1));
    EXPECT_EQ(where_holds(divide(inside, 3, extent), guard), divide(inside, 3, extent));
    EXPECT_EQ(where_holds(divide(inside, 3, extent) * 3, {}), divide(inside, 3, extent) * 3);
  }
}

TEST(IndexAlgebra, KnowsBoundsOfWhatIsScaled) {
  const Index index = Index::scaled(LoopVar{0}, Index::of(LoopVar{1}) + Index(1)) - Index(2);
  const std::optional<Bounds> bounds = bounds_of(index, extent);
  ASSERT_TRUE(bounds);
  EXPECT_EQ(bounds->low, -2);
  EXPECT_EQ(bounds->high, (kExtents[0] - 1) * kExtents[1] - 2);
  EXPECT_TRUE(mentions(index, LoopVar{0}));
  EXPECT_EQ(linear_coefficient(index, LoopVar{1}), std::nullopt);
  EXPECT_EQ(to_string(index, [](LoopVar var) { return var == LoopVar{0} ? "n" : "i"; }), "n*(i + 1) - 2");
}

TEST(IndexAlgebra, KnowsWhatCannotCarry) {
  const Index index = Index::of(LoopVar{0}) * 7 + Index::of(LoopVar{1});
  EXPECT_EQ(divide(index, 7, extent), Index::of(LoopVar{0}));
  EXPECT_EQ(modulo(index, 7, extent), Index::of(LoopVar{1}));
}

}  // namespace
}  // namespace tokamak
