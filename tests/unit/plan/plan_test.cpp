#include "plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <random>

#include "plan/arena.h"
#include "tokamak/errors.h"

namespace tokamak {
namespace {

using Kind = Placement::Kind;
using Operand = PlanRequest::Operand;

Operand request(int index) { return {Operand::Kind::request, index}; }
Operand donated(int index) { return {Operand::Kind::donated, index}; }

Plan checked_plan(const std::vector<PlanRequest>& requests, const std::vector<DonatedInput>& inputs = {}) {
  const Plan plan = plan_memory(requests, inputs);
  EXPECT_EQ(verify_plan(requests, inputs, plan), std::nullopt) << to_string(plan, requests);
  EXPECT_GE(plan.arena_bytes, plan.lower_bound);
  return plan;
}

TEST(Plan, NothingTakesNothing) {
  const Plan plan = checked_plan({});
  EXPECT_EQ(plan.arena_bytes, 0);
  EXPECT_EQ(plan.naive_bytes, 0);
}

TEST(Plan, AChainOfValuesTakesTwo) {
  std::vector<PlanRequest> requests;
  for (int i = 0; i < 10; ++i) requests.push_back({.bytes = 1024, .first_step = i, .last_step = i + 1});
  const Plan plan = checked_plan(requests);
  EXPECT_EQ(plan.arena_bytes, 2048);
  EXPECT_EQ(plan.naive_bytes, 10240);
}

TEST(Plan, AChainInPlaceTakesOne) {
  std::vector<PlanRequest> requests = {{.bytes = 1000, .first_step = 0, .last_step = 1}};
  for (int i = 1; i < 10; ++i) {
    requests.push_back({.bytes = 1000, .first_step = i, .last_step = i + 1, .in_place_of = {request(i - 1)}});
  }
  const Plan plan = checked_plan(requests);
  EXPECT_EQ(plan.arena_bytes, 1024);
  EXPECT_EQ(plan.in_place, 9);
}

TEST(Plan, InPlaceOnlyOverTheLastReaderOfTheSameSize) {
  const Plan plan = checked_plan({
      {.bytes = 128, .first_step = 0, .last_step = 3},  // read later
      {.bytes = 256, .first_step = 0, .last_step = 1},  // another size
      {.bytes = 128, .first_step = 0, .last_step = 1},  // taken by the first
      {.bytes = 128, .first_step = 1, .last_step = 2, .in_place_of = {request(0), request(1), request(2)}},
      {.bytes = 128, .first_step = 1, .last_step = 2, .in_place_of = {request(2)}},
  });
  EXPECT_EQ(plan.in_place, 1);
  ASSERT_TRUE(plan.placements[3].overwrites);
  EXPECT_EQ(plan.placements[3].overwrites->index, 2);
  EXPECT_FALSE(plan.placements[4].overwrites);
}

TEST(Plan, OutputsHaveBlocksOfTheirOwnThatOperandsMayUse) {
  const Plan plan = checked_plan({
      {.bytes = 640, .first_step = 0, .last_step = 1},
      {.bytes = 640, .first_step = 1, .last_step = 1, .output = 0, .in_place_of = {request(0)}},
      {.bytes = 64, .first_step = 1, .last_step = 4, .output = 1},
  });
  EXPECT_EQ(plan.placements[0], (Placement{Kind::output, 0}));
  EXPECT_EQ(plan.placements[1], (Placement{Kind::output, 0}));
  EXPECT_EQ(plan.placements[2], (Placement{Kind::output, 1}));
  EXPECT_EQ(plan.arena_bytes, 0);
  EXPECT_EQ(plan.output_bytes, 704);
  EXPECT_EQ(plan.peak_bytes(), 704);
}

TEST(Plan, ValuesLieInAnOutputBeforeItIsWritten) {
  // x = relax(x), not in place: every second is where the result will be.
  std::vector<PlanRequest> requests;
  for (int i = 0; i < 9; ++i) requests.push_back({.bytes = 1000, .first_step = i, .last_step = i + 1});
  requests.push_back({.bytes = 1000, .first_step = 9, .last_step = 9, .output = 0});
  const Plan plan = checked_plan(requests);
  EXPECT_EQ(plan.arena_bytes, 1024);
  EXPECT_EQ(plan.output_bytes, 1024);
  EXPECT_EQ(plan.placements[8], (Placement{Kind::arena, 0}));
  EXPECT_EQ(plan.placements[7], (Placement{Kind::output, 0}));

  // Not where the caller may have put an input, nor where there is no room.
  requests.back().has_own_place = true;
  EXPECT_EQ(checked_plan(requests).arena_bytes, 2048);
  requests.back().has_own_place = false;
  requests.back().bytes = 999;
  EXPECT_EQ(checked_plan(requests).arena_bytes, 2048);
}

TEST(Plan, OutputsAreNotOverwritten) {
  const Plan plan = checked_plan({
      {.bytes = 64, .first_step = 0, .last_step = 1, .output = 0},
      {.bytes = 64, .first_step = 1, .last_step = 1, .output = 1, .in_place_of = {request(0)}},
  });
  EXPECT_EQ(plan.in_place, 0);
}

TEST(Plan, DonatedInputsServeOutputs) {
  // In place of the input that the step reads last.
  Plan plan = checked_plan(
      {{.bytes = 640, .first_step = 0, .last_step = 0, .output = 0, .in_place_of = {donated(0)}}},
      {{.input = 2, .bytes = 640, .last_step = 0}});
  EXPECT_EQ(plan.placements[0], (Placement{Kind::donated, 2}));
  EXPECT_EQ(plan.output_bytes, 0);
  // Through an intermediate.
  plan = checked_plan(
      {
          {.bytes = 640, .first_step = 0, .last_step = 1, .in_place_of = {donated(0)}},
          {.bytes = 640, .first_step = 1, .last_step = 1, .output = 0, .in_place_of = {request(0)}},
      },
      {{.input = 2, .bytes = 640, .last_step = 0}});
  EXPECT_EQ(plan.placements[1], (Placement{Kind::donated, 2}));
  EXPECT_EQ(plan.peak_bytes(), 0);
  // An input that was read before needs no permission.
  plan = checked_plan({{.bytes = 64, .first_step = 0, .last_step = 1},
                       {.bytes = 640, .first_step = 1, .last_step = 1, .output = 0}},
                      {{.input = 0, .bytes = 640, .last_step = 0}});
  EXPECT_EQ(plan.placements[1], (Placement{Kind::donated, 0}));
  // It does not serve what the caller has a place for.
  plan = checked_plan({{.bytes = 64, .first_step = 0, .last_step = 1},
                       {.bytes = 640, .first_step = 1, .last_step = 1, .output = 0, .has_own_place = true}},
                      {{.input = 0, .bytes = 640, .last_step = 0}});
  EXPECT_EQ(plan.placements[1], (Placement{Kind::output, 0}));
  // One that is read by the same step without permission, or that has another size, does not serve.
  plan =
      checked_plan({{.bytes = 640, .first_step = 1, .last_step = 1, .output = 0}},
                   {{.input = 0, .bytes = 640, .last_step = 1}, {.input = 1, .bytes = 1280, .last_step = 0}});
  EXPECT_EQ(plan.placements[0], (Placement{Kind::output, 0}));
}

TEST(Plan, EmptyValuesTakeNothing) {
  const Plan plan = checked_plan({{.bytes = 0, .first_step = 0, .last_step = 5},
                                  {.bytes = 0, .first_step = 2, .last_step = 3, .in_place_of = {request(0)}},
                                  {.bytes = 0, .first_step = 2, .last_step = 3, .output = 0}});
  EXPECT_EQ(plan.peak_bytes(), 0);
}

TEST(Plan, RefusesNonsense) {
  EXPECT_THROW(plan_memory(std::vector<PlanRequest>{{.bytes = -1}}), InternalError);
  EXPECT_THROW(plan_memory(std::vector<PlanRequest>{{.bytes = 1, .first_step = 2, .last_step = 1}}),
               InternalError);
  EXPECT_THROW(plan_memory(std::vector<PlanRequest>{{.bytes = 1, .in_place_of = {request(5)}}}),
               InternalError);
  EXPECT_THROW(plan_memory(std::vector<PlanRequest>{{.bytes = 1, .output = 0}, {.bytes = 1, .output = 0}}),
               InternalError);
  const int64_t huge = std::numeric_limits<int64_t>::max() / 2;
  EXPECT_THROW(plan_memory(std::vector<PlanRequest>{{.bytes = huge}, {.bytes = huge}, {.bytes = huge}}),
               UserError);
  EXPECT_THROW(plan_memory(std::vector<PlanRequest>{{.bytes = std::numeric_limits<int64_t>::max()}}),
               UserError);
}

TEST(Plan, RendersReadably) {
  const std::vector<PlanRequest> requests = {
      {.bytes = 1024, .first_step = 0, .last_step = 1, .name = "%0"},
      {.bytes = 1024, .first_step = 1, .last_step = 2, .in_place_of = {request(0)}, .name = "%1"},
      {.bytes = 8, .first_step = 2, .last_step = 2, .output = 0, .name = "%2"},
  };
  EXPECT_EQ(to_string(checked_plan(requests), requests),
            "arena 1024 bytes + outputs 64 bytes; without reuse 2112 bytes\n"
            "  steps 0..1              1024 bytes  arena + 0          %0\n"
            "  steps 1..2              1024 bytes  arena + 0          %1, in place of %0\n"
            "  steps 2..end               8 bytes  output 0           %2\n");
}

TEST(PlanVerifier, FindsWhatIsWrong) {
  const std::vector<PlanRequest> requests = {
      {.bytes = 128, .first_step = 0, .last_step = 1, .name = "a"},
      {.bytes = 128, .first_step = 1, .last_step = 2, .in_place_of = {request(0)}, .name = "b"},
      {.bytes = 100, .first_step = 0, .last_step = 2, .name = "c"},
      {.bytes = 64, .first_step = 2, .last_step = 2, .output = 0, .name = "d"},
  };
  const Plan good = checked_plan(requests);
  const auto complaint = [&](auto damage) {
    Plan plan = good;
    damage(plan);
    return verify_plan(requests, {}, plan).value_or("fine");
  };
  using testing::HasSubstr;
  EXPECT_THAT(complaint([](Plan& p) { p.placements[2].at = p.placements[0].at; }), HasSubstr("share memory"));
  EXPECT_THAT(complaint([](Plan& p) { p.placements[2].at = p.placements[0].at + 64; }),
              HasSubstr("share memory"));
  EXPECT_THAT(complaint([](Plan& p) { p.placements[1].overwrites.reset(); }), HasSubstr("share memory"));
  EXPECT_THAT(complaint([](Plan& p) { p.placements[1].overwrites = request(2); }),
              HasSubstr("lies elsewhere"));
  EXPECT_THAT(complaint([](Plan& p) { p.placements[2].at = 4096; }), HasSubstr("outside the arena"));
  EXPECT_THAT(complaint([](Plan& p) { p.placements[2].at += 8; }), HasSubstr("bad offset"));
  EXPECT_THAT(complaint([](Plan& p) { p.placements[2] = {Kind::output, 0}; }), HasSubstr("larger"));
  EXPECT_THAT(complaint([](Plan& p) { p.placements[3].kind = Kind::arena; }),
              HasSubstr("output in the arena"));
  EXPECT_THAT(complaint([](Plan& p) { p.placements[3].kind = Kind::donated; }), HasSubstr("not donated"));
  EXPECT_THAT(complaint([](Plan& p) { p.placements.pop_back(); }), HasSubstr("number of values"));
}

struct RandomProgram {
  std::vector<PlanRequest> requests;
  std::vector<DonatedInput> inputs;
};

RandomProgram random_program(uint32_t seed, int values, int longest_life) {
  std::mt19937 random(seed);
  RandomProgram program;
  for (int i = 0; i < 3; ++i) {
    program.inputs.push_back(
        {.input = 2 * i, .bytes = 64 * int64_t(random() % 4), .last_step = int(random() % 5) - 1});
  }
  int outputs = 0;
  for (int i = 0; i < values; ++i) {
    const int first = i / 2;
    PlanRequest made{.bytes = random() % 3 == 0 ? int64_t(random() % 100'000) : 64 * int64_t(random() % 4),
                     .first_step = first,
                     .last_step = first + int(random() % longest_life)};
    if (random() % 10 == 0) made.output = outputs++;
    for (int k = 0; k < 3 && i > 0; ++k) {
      made.in_place_of.push_back(random() % 4 == 0 ? donated(random() % 3)
                                                   : request(std::max<int>(0, i - 1 - random() % 8)));
    }
    program.requests.push_back(std::move(made));
  }
  return program;
}

TEST(Plan, RandomProgramsAreRightAndDeterministic) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomProgram program = random_program(seed, 1 + seed % 97, 1 + seed % 13);
    const Plan plan = checked_plan(program.requests, program.inputs);
    EXPECT_LE(plan.peak_bytes(), plan.naive_bytes);
    EXPECT_EQ(plan_memory(program.requests, program.inputs).placements, plan.placements);
  }
}

TEST(Plan, StaysCloseToTheLowerBound) {
  double used = 0, least = 0;
  for (uint32_t seed = 0; seed < 100; ++seed) {
    const RandomProgram program = random_program(seed, 200, 10);
    const Plan plan = checked_plan(program.requests, program.inputs);
    used += static_cast<double>(plan.arena_bytes);
    least += static_cast<double>(plan.lower_bound);
  }
  EXPECT_LT(used, 1.1 * least);
}

TEST(Plan, LargeProgramsArePlannedQuickly) {
  for (int longest_life : {3, 50, 100'000}) {  // the last: nearly everything is alive at once
    const RandomProgram program = random_program(7, 50'000, longest_life);
    const auto start = std::chrono::steady_clock::now();
    const Plan plan = plan_memory(program.requests, program.inputs);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(verify_plan(program.requests, program.inputs, plan), std::nullopt);
    RecordProperty("seconds_" + std::to_string(longest_life), std::to_string(time.count()));
    RecordProperty("ratio_" + std::to_string(longest_life),
                   std::to_string(double(plan.arena_bytes) / double(plan.lower_bound)));
    EXPECT_LT(time.count(), 5.0) << longest_life;  // a tenth of that is usual
  }
}

TEST(Plan, ALoopOfAThousandStepsTakesAsMuchAsTwo) {
  // x = relax(x) with three temporaries a step, none in place.
  const auto peak = [](int loops) {
    std::vector<PlanRequest> requests;
    for (int i = 0; i < loops; ++i) {
      for (int k = 0; k < 3; ++k) {
        requests.push_back(
            {.bytes = 4096 << k, .first_step = 3 * i + k, .last_step = 3 * i + k + 1 + (k == 0)});
      }
    }
    return checked_plan(requests).peak_bytes();
  };
  EXPECT_EQ(peak(1000), peak(2));
}

}  // namespace
}  // namespace tokamak
