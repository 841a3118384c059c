#include "trace/selection.h"

#include <gtest/gtest.h>

#include <numeric>

#include "ir/text.h"
#include "trace/trace.h"

namespace tokamak {
namespace {

Array counting(const Shape& shape) {
  const int64_t count = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  std::vector<double> elements(static_cast<size_t>(count));
  std::iota(elements.begin(), elements.end(), 0.0);
  return Array::from(elements, shape);
}

std::vector<double> elements_of(const Array& x) { return x.contiguous().to_vector<double>(); }

TEST(Selection, OfIntegersSlicesAndNewAxes) {
  const Array x = counting({4, 6});
  // x[2, ::-2, None]
  const Selection selection({{2, 3, 1}, {1, 6, -2}}, {1, Selection::kNewAxis});
  const Array found = selection.of(x);
  EXPECT_EQ(found.shape(), (Shape{3, 1}));
  EXPECT_EQ(selection.shape(), found.shape());
  EXPECT_EQ(elements_of(found), (std::vector<double>{17, 15, 13}));
  EXPECT_EQ(selection.strides({6, 1}), (Ints{-2, 0}));
}

TEST(Selection, IsAllOfWhatItChangesNothingOf) {
  EXPECT_TRUE(Selection({{0, 4, 1}, {0, 6, 1}}, {0, 1}).is_all_of({4, 6}));
  EXPECT_FALSE(Selection({{0, 4, 1}, {0, 6, 1}}, {0, 1}).is_all_of({4, 7}));
  EXPECT_FALSE(Selection({{0, 4, -1}, {0, 6, 1}}, {0, 1}).is_all_of({4, 6}));
  EXPECT_FALSE(Selection({{0, 4, 1}, {0, 6, 1}}, {0, 1, Selection::kNewAxis}).is_all_of({4, 6}));
  EXPECT_FALSE(Selection({{0, 1, 1}}, {}).is_all_of({1}));
}

/// Of every selection of a vector, elements that are put there are found there, and all others are as before.
TEST(Selection, PutsElementsWhereTheyAreSelected) {
  const Array x = counting({7});
  for (int64_t first = 0; first < 7; ++first) {
    for (int64_t end = first; end <= 7; ++end) {
      for (int64_t step : {1, 2, 3, -1, -2, -4}) {
        const int64_t count = Selection({{first, end, step}}, {0}).shape()[0];
        const int64_t last = first + (count - 1) * std::abs(step) + 1;
        const Selection selection(
            {count == 0 ? Selection::Range{0, 0, step} : Selection::Range{first, last, step}}, {0});
        std::vector<double> given(static_cast<size_t>(count));
        std::iota(given.begin(), given.end(), 100.0);
        const Array made = selection.replaced(x, Array::from(given, {count}));
        EXPECT_EQ(elements_of(selection.of(made)), given) << first << ":" << end << ":" << step;
        std::vector<double> expected = elements_of(x);
        for (int64_t i = 0; i < count; ++i) {
          const int64_t place = step > 0 ? first + i * step : last - 1 + i * step;
          expected[static_cast<size_t>(place)] = given[static_cast<size_t>(i)];
        }
        EXPECT_EQ(elements_of(made), expected) << first << ":" << end << ":" << step;
      }
    }
  }
}

TEST(Selection, PutsAMatrixInside) {
  const Array x = counting({4, 5});
  const Selection inner({{1, 3, 1}, {1, 4, 2}}, {0, 1});
  const Array made = inner.replaced(x, Array::from(std::vector<double>{-1, -2, -3, -4}, {2, 2}));
  EXPECT_EQ(elements_of(made),
            (std::vector<double>{0, 1, 2, 3, 4, 5, -1, 7, -2, 9, 10, -3, 12, -4, 14, 15, 16, 17, 18, 19}));
}

TEST(Selection, IsRecordedAsAConcatenationOfRunsOrAChoice) {
  auto trace = Trace::start("f");
  const Array x = trace->parameter("x", {DType::f32, {6}});
  const Array y = trace->parameter("y", {DType::f32, {2}});
  const Array run = Selection({{2, 4, 1}}, {0}).replaced(x, y);
  const Array chosen = Selection({{1, 5, 3}}, {0}).replaced(x, y);
  const std::string text = print(trace->finish(std::vector<Array>{run, chosen}));
  EXPECT_NE(text.find("concatenate"), std::string::npos) << text;
  EXPECT_NE(text.find("select"), std::string::npos) << text;
  EXPECT_NE(text.find("pad %y, 0.0 {low=[1], high=[1], interior=[2]}"), std::string::npos) << text;
}

}  // namespace
}  // namespace tokamak
