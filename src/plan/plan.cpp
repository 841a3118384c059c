#include "plan/plan.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "plan/arena.h"
#include "support/parts.h"
#include "tokamak/errors.h"

namespace tokamak {

namespace {

using Operand = PlanRequest::Operand;

int64_t rounded_up(int64_t bytes) {
  if (bytes > std::numeric_limits<int64_t>::max() - kPlanAlignment) {
    throw UserError("out of memory: a value of this program takes " + std::to_string(bytes) + " bytes", {},
                    UserError::Kind::memory);
  }
  return (bytes + kPlanAlignment - 1) / kPlanAlignment * kPlanAlignment;
}

int64_t saturating_add(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

[[noreturn]] void refuse(size_t request, const std::string& why) {
  throw InternalError("memory plan: request " + std::to_string(request) + " " + why);
}

void check_requests(std::span<const PlanRequest> requests, std::span<const DonatedInput> donated) {
  std::set<int> outputs;
  for (size_t i = 0; i < requests.size(); ++i) {
    const PlanRequest& request = requests[i];
    if (request.bytes < 0) refuse(i, "has a negative size");
    if (request.first_step < 0 || request.last_step < request.first_step) refuse(i, "ends before it begins");
    if (request.output && !outputs.insert(*request.output).second) refuse(i, "repeats an output");
    for (const Operand& operand : request.in_place_of) {
      const size_t count = operand.kind == Operand::Kind::request ? requests.size() : donated.size();
      if (operand.index < 0 || static_cast<size_t>(operand.index) >= count)
        refuse(i, "names no such operand");
    }
  }
}

/// Values that follow each other in the same memory.
struct Chain {
  std::vector<int> members;    ///< requests, each written over the one before it
  std::optional<int> donated;  ///< the donated input that the first is written over
};

/// Links each request to an operand that it can overwrite, in the order of steps, and collects the chains.
class Chains {
 public:
  Chains(std::span<const PlanRequest> requests, std::span<const DonatedInput> donated)
      : requests_(requests),
        donated_(donated),
        chain_of_(requests.size(), -1),
        overwritten_(requests.size(), false),
        donated_taken_(donated.size(), false) {
    std::vector<int> order(requests.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return requests[a].first_step < requests[b].first_step; });
    for (int request : order) link(request);
    give_free_inputs_to_outputs();
  }

  const std::vector<Chain>& all() const { return chains_; }

 private:
  bool can_overwrite(const PlanRequest& request, const Operand& operand) const {
    if (request.bytes == 0 || !is_enabled(Part::reuse)) return false;
    if (operand.kind == Operand::Kind::donated) {
      const DonatedInput& input = donated_[operand.index];
      return !donated_taken_[operand.index] && input.bytes == request.bytes &&
             input.last_step <= request.first_step;
    }
    const PlanRequest& other = requests_[operand.index];
    return !overwritten_[operand.index] && !other.output && other.bytes == request.bytes &&
           other.first_step < request.first_step && other.last_step == request.first_step;
  }

  void link(int index) {
    const PlanRequest& request = requests_[index];
    for (const Operand& operand : request.in_place_of) {
      if (!can_overwrite(request, operand)) continue;
      if (operand.kind == Operand::Kind::donated) {
        donated_taken_[operand.index] = true;
        start(index, operand.index);
      } else {
        overwritten_[operand.index] = true;
        chain_of_[index] = chain_of_[operand.index];
        chains_[chain_of_[index]].members.push_back(index);
      }
      return;
    }
    start(index, std::nullopt);
  }

  void start(int index, std::optional<int> donated) {
    chain_of_[index] = static_cast<int>(chains_.size());
    chains_.push_back({.members = {index}, .donated = donated});
  }

  /// An output that overwrites nothing can still live in an input of its size that was last read before.
  void give_free_inputs_to_outputs() {
    for (Chain& chain : chains_) {
      const PlanRequest& head = requests_[chain.members.front()];
      const PlanRequest& tail = requests_[chain.members.back()];
      if (chain.donated || !tail.output || tail.has_own_place || head.bytes == 0) continue;
      for (size_t i = 0; i < donated_.size() && !chain.donated; ++i) {
        if (donated_taken_[i] || donated_[i].bytes != head.bytes || donated_[i].last_step >= head.first_step)
          continue;
        donated_taken_[i] = true;
        chain.donated = static_cast<int>(i);
      }
    }
  }

  std::span<const PlanRequest> requests_;
  std::span<const DonatedInput> donated_;
  std::vector<Chain> chains_;
  std::vector<int> chain_of_;
  std::vector<bool> overwritten_;
  std::vector<bool> donated_taken_;
};

/// Sets what every member of a chain overwrites; the place follows.
void mark_in_place(Plan& plan, const Chain& chain) {
  if (chain.donated) {
    plan.placements[chain.members.front()].overwrites = Operand{Operand::Kind::donated, *chain.donated};
  }
  for (size_t i = 1; i < chain.members.size(); ++i) {
    plan.placements[chain.members[i]].overwrites = Operand{Operand::Kind::request, chain.members[i - 1]};
  }
  plan.in_place += static_cast<int>(chain.members.size()) - (chain.donated ? 0 : 1);
}

void place(Plan& plan, const Chain& chain, Placement::Kind kind, int64_t at) {
  for (int member : chain.members) {
    plan.placements[member].kind = kind;
    plan.placements[member].at = at;
  }
}

/// An item of the arena that has not found another place.
struct Tenant : ArenaItem {
  int64_t needed;  ///< bytes, not rounded up: outputs are not
  size_t number;
};

/// The memory of an output, which is free until it is written.
struct FreeOutput {
  int64_t bytes;
  int until;  ///< the step that writes it
  int output;
};

/// The items that live in the memory of an output before it is written: backwards from there, each time the
/// one that ends last, and of those that end together the largest. Where values follow one another, every
/// second is taken, such that the others do not need the place of two in the arena. Small items are not worth
/// what they keep others from.
std::vector<size_t> guests_of(const FreeOutput& host, std::span<const Tenant> items) {
  std::vector<size_t> order;
  for (size_t i = 0; i < items.size(); ++i) {
    const bool is_worth_it = items[i].needed <= host.bytes && items[i].needed >= host.bytes / 4;
    if (is_worth_it && items[i].last < host.until) order.push_back(i);
  }
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    return std::pair(items[a].last, items[a].bytes) > std::pair(items[b].last, items[b].bytes);
  });
  std::vector<size_t> guests;
  int until = host.until;
  for (size_t item : order) {
    if (items[item].last >= until) continue;
    guests.push_back(item);
    until = items[item].first;
  }
  return guests;
}

/// The arena, and what is in the memory of outputs instead.
struct Shared {
  ArenaLayout layout;                    ///< offsets of the others have no meaning
  std::vector<std::optional<int>> home;  ///< by item: the output it is in
};

Shared share_outputs(std::vector<Tenant> tenants, std::vector<FreeOutput> outputs) {
  const auto lay_out = [](const std::vector<Tenant>& all) {
    return lay_out_arena(std::vector<ArenaItem>(all.begin(), all.end()));
  };
  // Each takes as long to try as the arena does.
  constexpr size_t kMostOutputs = 8;
  constexpr size_t kMostTried = 20'000;
  const size_t tried = std::clamp<size_t>(kMostTried / (tenants.size() + 1), 1, kMostOutputs);
  std::ranges::stable_sort(outputs, std::greater<>(), &FreeOutput::bytes);
  outputs.resize(std::min(outputs.size(), tried));
  Shared best{lay_out(tenants), std::vector<std::optional<int>>(tenants.size())};
  for (const FreeOutput& host : outputs) {
    const std::vector<size_t> guests = guests_of(host, tenants);
    if (guests.empty()) continue;
    std::vector<bool> leaves(tenants.size(), false);
    for (size_t guest : guests) leaves[guest] = true;
    std::vector<Tenant> rest;
    for (size_t i = 0; i < tenants.size(); ++i) {
      if (!leaves[i]) rest.push_back(tenants[i]);
    }
    const ArenaLayout layout = lay_out(rest);
    if (layout.bytes >= best.layout.bytes) continue;
    best.layout.bytes = layout.bytes;
    best.layout.lower_bound = layout.lower_bound;
    for (size_t i = 0; i < rest.size(); ++i) best.layout.offsets[rest[i].number] = layout.offsets[i];
    for (size_t guest : guests) best.home[tenants[guest].number] = host.output;
    tenants = std::move(rest);
  }
  return best;
}

}  // namespace

Plan plan_memory(std::span<const PlanRequest> requests, std::span<const DonatedInput> donated) {
  check_requests(requests, donated);
  Plan plan;
  plan.placements.resize(requests.size());
  for (const PlanRequest& request : requests) {
    plan.naive_bytes = saturating_add(plan.naive_bytes, rounded_up(request.bytes));
  }

  const Chains chains(requests, donated);
  std::vector<Tenant> items;
  std::vector<const Chain*> item_chains;
  std::vector<FreeOutput> free_outputs;
  for (const Chain& chain : chains.all()) {
    mark_in_place(plan, chain);
    const PlanRequest& head = requests[chain.members.front()];
    const PlanRequest& tail = requests[chain.members.back()];
    if (chain.donated) {
      place(plan, chain, Placement::Kind::donated, donated[*chain.donated].input);
    } else if (tail.output) {
      place(plan, chain, Placement::Kind::output, *tail.output);
      plan.output_bytes = saturating_add(plan.output_bytes, rounded_up(tail.bytes));
      const bool has_own_place = std::ranges::any_of(
          chain.members, [&](int member) { return requests[static_cast<size_t>(member)].has_own_place; });
      if (!has_own_place) free_outputs.push_back({tail.bytes, head.first_step, *tail.output});
    } else if (head.bytes > 0) {  // an empty value keeps offset 0, which it shares with anybody
      items.push_back({{rounded_up(head.bytes), head.first_step, tail.last_step}, head.bytes, items.size()});
      item_chains.push_back(&chain);
    }
  }

  if (!is_enabled(Part::reuse)) {
    for (Tenant& item : items) item.first = item.last = 0;  // all at once: nobody shares
    free_outputs.clear();
  }
  const Shared shared = share_outputs(items, std::move(free_outputs));
  for (size_t i = 0; i < items.size(); ++i) {
    if (shared.home[i]) {
      place(plan, *item_chains[i], Placement::Kind::output, *shared.home[i]);
    } else {
      place(plan, *item_chains[i], Placement::Kind::arena, shared.layout.offsets[i]);
    }
  }
  plan.arena_bytes = shared.layout.bytes;
  plan.lower_bound = shared.layout.lower_bound;
  return plan;
}

}  // namespace tokamak
