#pragma once

// The memory plan: where every value of a program lives.
//
// A program is a sequence of steps. A value is written at one step and read until another; the two steps
// belong to its life. Values whose lives do not meet share memory: intermediates at offsets of one arena,
// outputs in blocks of their own, where intermediates may lie before they are written. Where a step may write
// its result over an operand that it is the last to read, the two share their memory too ("in place"), and an
// operand may be an input that the caller gave away ("donated").

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tokamak {

inline constexpr int64_t kPlanAlignment = 64;

/// An input that the program may overwrite after its last reader.
struct DonatedInput {
  int input;  ///< its position among the program's inputs
  int64_t bytes;
  int last_step;  ///< its last reader; -1 when nothing reads it
};

struct PlanRequest {
  /// An operand that may be overwritten in place: a request (by its position) or a donated input (by its
  /// position in the list of donated inputs).
  struct Operand {
    enum class Kind : uint8_t { request, donated } kind;
    int index;
  };

  int64_t bytes = 0;
  int first_step = 0;  ///< where it is written
  int last_step = 0;   ///< where it is last read; at least first_step
  /// Its position among the program's outputs. An output lives to the end, whatever last_step says.
  std::optional<int> output = std::nullopt;
  /// An output whose memory the caller may choose: it is never in that of a donated input.
  bool has_own_place = false;
  /// What the step that writes this value may overwrite with it, the best first. Only operands whose size is
  /// the same and that are last read at first_step are ever overwritten; that the access pattern allows it is
  /// the caller's claim.
  std::vector<Operand> in_place_of = {};
  std::string name = {};  ///< for the rendering
};

/// Where a value lives.
struct Placement {
  enum class Kind : uint8_t { arena, output, donated } kind = Kind::arena;
  int64_t at = 0;  ///< the offset in the arena; the position of the output; the position of the input
  /// The operand whose memory it took over, if any.
  std::optional<PlanRequest::Operand> overwrites = std::nullopt;

  friend bool operator==(const Placement& a, const Placement& b) { return a.kind == b.kind && a.at == b.at; }
};

struct Plan {
  std::vector<Placement> placements;  ///< by request
  int64_t arena_bytes = 0;
  int64_t output_bytes = 0;  ///< blocks for outputs; those in donated inputs need none
  int64_t naive_bytes = 0;   ///< what one buffer per value would take
  int64_t lower_bound = 0;   ///< no arena can be smaller, given what was put in place
  int in_place = 0;          ///< values that took over the memory of an operand

  int64_t peak_bytes() const { return arena_bytes + output_bytes; }
};

/// Plans the requests. The same requests give the same plan. Takes about n log n for programs in which most
/// values live shortly. A request in an output's or a donated input's memory has the alignment of that
/// memory; offsets are multiples of 64. Throws InternalError for requests that make no sense and UserError
/// (memory) when sizes overflow.
Plan plan_memory(std::span<const PlanRequest> requests, std::span<const DonatedInput> donated = {});

/// Looks for two values that are alive at once and share memory (unless one overwrites the other in place),
/// for values outside the arena and for broken promises about outputs and donation. Says what is wrong;
/// nullopt if nothing is.
std::optional<std::string> verify_plan(std::span<const PlanRequest> requests,
                                       std::span<const DonatedInput> donated, const Plan& plan);

/// The request's name, or its position if it has none.
std::string display_name(std::span<const PlanRequest> requests, int index);

/// For people: the totals, then a line per value.
///   arena 2048 bytes + outputs 1024 bytes; without reuse 5120 bytes
///     steps 0..1         1024 bytes  arena + 0      %0
///     steps 1..2         1024 bytes  arena + 0      %1, in place of %0
std::string to_string(const Plan& plan, std::span<const PlanRequest> requests);

/// One such line: when, how much, where and what.
std::string plan_line(const std::string& when, int64_t bytes, const std::string& where,
                      const std::string& what);
/// The lines of all values.
std::string plan_lines(const Plan& plan, std::span<const PlanRequest> requests);

}  // namespace tokamak
