#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "plan/plan.h"

namespace tokamak {

namespace {

using Operand = PlanRequest::Operand;
constexpr int64_t kForever = std::numeric_limits<int64_t>::max();

/// Something that occupies memory during a half-open span of time. Time counts half steps: a value written at
/// step s begins at 2s; one last read there ends at 2s + 1, or at 2s if it is overwritten in place by that
/// step.
struct Occupant {
  Placement::Kind kind;
  int64_t home;  ///< which output or donated input; 0 for the arena
  int64_t begin_byte, end_byte;
  int64_t begin_time, end_time;
  std::string name;
};

class Verifier {
 public:
  Verifier(std::span<const PlanRequest> requests, std::span<const DonatedInput> donated, const Plan& plan)
      : requests_(requests), donated_(donated), plan_(plan) {}

  std::optional<std::string> run() {
    if (plan_.placements.size() != requests_.size()) return "the plan has another number of values";
    for (size_t i = 0; i < donated_.size(); ++i) {
      const DonatedInput& input = donated_[i];
      occupants_.push_back({Placement::Kind::donated, input.input, 0, input.bytes, -1,
                            2 * int64_t{input.last_step} + 1,
                            "donated input " + std::to_string(input.input)});
    }
    for (const PlanRequest& request : requests_) {
      if (request.output) output_bytes_[*request.output] = request.bytes;
    }
    for (size_t i = 0; i < requests_.size(); ++i) {
      if (auto wrong = add_request(static_cast<int>(i))) return wrong;
    }
    for (size_t i = 0; i < requests_.size(); ++i) {
      if (auto wrong = apply_overwrite(static_cast<int>(i))) return wrong;
    }
    return sweep();
  }

 private:
  const DonatedInput* donated_at(int64_t input) const {
    for (const DonatedInput& candidate : donated_) {
      if (candidate.input == input) return &candidate;
    }
    return nullptr;
  }

  int64_t bytes_of_output(int64_t output) const {
    const auto found = output_bytes_.find(output);
    return found == output_bytes_.end() ? 0 : found->second;
  }

  std::optional<std::string> add_request(int index) {
    const PlanRequest& request = requests_[index];
    const Placement& place = plan_.placements[index];
    const std::string name = display_name(requests_, index);
    Occupant occupant{place.kind,
                      place.at,
                      0,
                      request.bytes,
                      2 * int64_t{request.first_step},
                      request.output ? kForever : 2 * int64_t{request.last_step} + 1,
                      name};
    switch (place.kind) {
      case Placement::Kind::arena:
        if (request.output) return name + " is an output in the arena";
        if (place.at < 0 || place.at % kPlanAlignment != 0) return name + " is at a bad offset";
        if (request.bytes > plan_.arena_bytes - place.at) return name + " lies outside the arena";
        occupant.home = 0;
        occupant.begin_byte = place.at;
        occupant.end_byte = place.at + request.bytes;
        break;
      case Placement::Kind::output:
        if (request.output && *request.output != place.at)
          return name + " is in the memory of another output";
        if (request.bytes > bytes_of_output(place.at)) return name + " is larger than the output it is in";
        break;
      case Placement::Kind::donated: {
        const DonatedInput* input = donated_at(place.at);
        if (input == nullptr) return name + " is in an input that was not donated";
        if (input->bytes != request.bytes) return name + " is in a donated input of another size";
        break;
      }
    }
    occupants_.push_back(std::move(occupant));
    return std::nullopt;
  }

  std::optional<std::string> apply_overwrite(int index) {
    const auto& overwrites = plan_.placements[index].overwrites;
    if (!overwrites) return std::nullopt;
    const std::string name = display_name(requests_, index);
    const bool donated = overwrites->kind == Operand::Kind::donated;
    Occupant& before = occupants_[donated ? overwrites->index : donated_.size() + overwrites->index];
    const Occupant& after = occupants_[donated_.size() + index];
    if (before.kind != after.kind || before.home != after.home || before.begin_byte != after.begin_byte ||
        before.end_byte != after.end_byte) {
      return name + " overwrites " + before.name + " but lies elsewhere";
    }
    const auto& allowed = requests_[index].in_place_of;
    const bool may = std::any_of(allowed.begin(), allowed.end(), [&](const Operand& operand) {
      return operand.kind == overwrites->kind && operand.index == overwrites->index;
    });
    if (before.end_time <= after.begin_time) return std::nullopt;  // was read before: needs no permission
    if (!may) return name + " overwrites " + before.name + ", which it may not";
    if (before.end_time != after.begin_time + 1)
      return name + " overwrites " + before.name + ", which is read later";
    before.end_time = after.begin_time;
    return std::nullopt;
  }

  std::optional<std::string> sweep() const {
    struct Event {
      int64_t time;
      bool begins;  // at one time, ends come first
      const Occupant* occupant;
    };
    std::vector<Event> events;
    for (const Occupant& occupant : occupants_) {
      if (occupant.begin_byte == occupant.end_byte || occupant.begin_time >= occupant.end_time) continue;
      events.push_back({occupant.begin_time, true, &occupant});
      events.push_back({occupant.end_time, false, &occupant});
    }
    std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
      return std::tie(a.time, a.begins) < std::tie(b.time, b.begins);
    });
    using Address = std::tuple<Placement::Kind, int64_t, int64_t>;
    std::map<Address, const Occupant*> alive;
    for (const auto& [time, begins, occupant] : events) {
      const Address address{occupant->kind, occupant->home, occupant->begin_byte};
      if (!begins) {
        alive.erase(address);
        continue;
      }
      const auto overlaps = [&](const Occupant& other) {
        return other.kind == occupant->kind && other.home == occupant->home &&
               other.begin_byte < occupant->end_byte && occupant->begin_byte < other.end_byte;
      };
      const auto next = alive.lower_bound(address);
      for (auto neighbour : {next, next == alive.begin() ? alive.end() : std::prev(next)}) {
        if (neighbour == alive.end() || !overlaps(*neighbour->second)) continue;
        return occupant->name + " and " + neighbour->second->name + " share memory at step " +
               std::to_string(time / 2);
      }
      alive.emplace(address, occupant);
    }
    return std::nullopt;
  }

  std::span<const PlanRequest> requests_;
  std::span<const DonatedInput> donated_;
  const Plan& plan_;
  std::map<int64_t, int64_t> output_bytes_;
  std::vector<Occupant> occupants_;  ///< the donated inputs, then the requests
};

}  // namespace

std::optional<std::string> verify_plan(std::span<const PlanRequest> requests,
                                       std::span<const DonatedInput> donated, const Plan& plan) {
  return Verifier(requests, donated, plan).run();
}

}  // namespace tokamak
