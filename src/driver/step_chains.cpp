#include "driver/step_chains.h"

#include <algorithm>
#include <map>
#include <set>

#include "loops/walk.h"
#include "support/parts.h"

namespace tokamak {
namespace {

/// More steps would shift blocks so far that little of what one leaves in the cache is there for the next.
constexpr size_t kMostSteps = 64;
/// Blocks are worth waiting for one another from here on.
constexpr double kLeastNanoseconds = 2000;
/// As many blocks as leave every thread something to do while others begin and end.
constexpr int64_t kLeastBlocks = 8;

int64_t divided_up(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

int64_t coefficient_of(const Index& index, LoopVar var) {
  for (const IndexTerm& term : index.terms)
    if (term.atom == IndexAtom(var)) return term.coefficient;
  return 0;
}

/// What the tasks of a step read or write of a buffer: task t bytes [slope * t + low, slope * t + high).
struct Footprint {
  Place place;
  bool is_written;
  bool is_regular;  ///< else only [begin, end) is known, or nothing, where that is everything
  int64_t slope;
  int64_t low;
  int64_t high;
  int64_t begin;  ///< of all tasks
  int64_t end;
};

bool is_same_memory(const Footprint& a, const Footprint& b) {
  if (a.place.kind != b.place.kind) return false;
  return (a.place.kind == Place::Kind::arena || a.place.at == b.place.at) && a.begin < b.end &&
         b.begin < a.end;
}

struct Reach {
  std::vector<Footprint> footprints;  ///< none, where the step is not one that could run in blocks
  bool streams = false;  ///< what it stores past the caches would not be found in them by the next step
};

/// Collects what a step reads and writes.
class StepReach {
 public:
  StepReach(const Program& program, const Program::Step& step)
      : program_(program), step_(step), kernel_(*step.kernel) {}

  Reach run() {
    const bool is_plain = step_.block == nullptr && step_.sort == nullptr && step_.sites.empty() &&
                          kernel_.nests.size() == 1 && step_.first_nest == 0 && step_.end_nest > 0 &&
                          kernel_.checks.empty() && !kernel_.range;
    if (!is_plain) return {};
    const Loop& root = kernel_.nests[0].root;
    for (size_t i = 0; i < kernel_.numbers.size(); ++i)
      numbers_.emplace(kernel_.numbers[i], step_.numbers[i]);
    visit(root);
    Reach reach{.footprints = {}, .streams = streams_};
    if (is_possible_)
      for (const auto& [key, footprint] : found_) reach.footprints.push_back(footprint);
    return reach;
  }

 private:
  void visit(const Loop& loop) {
    const bool is_shorter = loop.bound && loop.bound->is_constant();
    extents_.emplace_back(loop.var, is_shorter ? std::min(loop.extent, loop.bound->constant) : loop.extent);
    visit(loop.body);
    extents_.pop_back();
  }

  void visit(const std::vector<Stmt>& body) {
    for (const Stmt& stmt : body) {
      if (const Loop* loop = as_loop(stmt)) {
        visit(*loop);
      } else if (const Branch* branch = as_branch(stmt)) {
        visit(branch->body);
        visit(branch->otherwise);
      } else {
        visit(stmt);
      }
    }
  }

  void visit(const Stmt& stmt) {
    const bool is_elsewhere = std::holds_alternative<TransposeTile>(stmt) ||
                              std::holds_alternative<Spill>(stmt) || std::holds_alternative<Unspill>(stmt);
    const auto* store = std::get_if<Store>(&stmt);
    if (is_elsewhere) is_possible_ = false;
    streams_ = streams_ || (store != nullptr && store->non_temporal);
    const std::optional<Access> access = access_of(stmt);
    if (access && kernel_[access->buffer].role != Buffer::Role::scratch) add(*access);
  }

  void add(const Access& access) {
    const Buffer& buffer = kernel_[access.buffer];
    const Place place = step_.buffers[static_cast<size_t>(access.buffer)];
    if (place.kind == Place::Kind::constant) return;
    const bool shares_memory =
        place.kind == Place::Kind::output && program_.output_in_place[static_cast<size_t>(place.at)];
    if (shares_memory || buffer.role == Buffer::Role::partial) is_possible_ = false;
    Footprint footprint = footprint_of(access, buffer, place);
    const auto [known, is_new] = found_.emplace(std::pair(access.buffer, access.is_store), footprint);
    if (is_new) return;
    Footprint& all = known->second;
    all.is_regular = all.is_regular && footprint.is_regular && all.slope == footprint.slope;
    all.low = std::min(all.low, footprint.low);
    all.high = std::max(all.high, footprint.high);
    all.begin = std::min(all.begin, footprint.begin);
    all.end = std::max(all.end, footprint.end);
  }

  Footprint footprint_of(const Access& access, const Buffer& buffer, Place place) const {
    const int64_t base = place.offset + (place.kind == Place::Kind::arena ? place.at : 0);
    const auto size = static_cast<int64_t>(size_of(buffer.type.dtype));
    Footprint footprint{.place = place,
                        .is_written = access.is_store,
                        .is_regular = false,
                        .slope = 0,
                        .low = 0,
                        .high = 0,
                        .begin = INT64_MIN,
                        .end = INT64_MAX};
    const std::optional<Index> position = linear_position(buffer, *access.index);
    if (!position) return footprint;
    footprint.begin = base;
    footprint.end = base + size;
    for (size_t axis = 0; axis < buffer.strides.size(); ++axis) {
      const int64_t distance = buffer.strides[axis] * (buffer.type.shape[axis] - 1);
      (distance < 0 ? footprint.begin : footprint.end) += distance;
    }
    const Loop& root = kernel_.nests[0].root;
    const Index known = substitute(
        *position, [&](LoopVar var) { return is_number(var) ? Index(numbers_.at(var)) : Index::of(var); },
        extents());
    // Where rounds begin in a row may depend on the task, too, but not by much.
    const int64_t step = coefficient_of(known, root.var);
    const std::optional<Bounds> rest = bounds_of(known - Index::of(root.var) * step, extents());
    if (!rest || step <= 0) return footprint;
    footprint.is_regular = true;
    footprint.slope = step * size;
    footprint.low = base + rest->low * size;
    footprint.high = base + (rest->high + 1) * size;
    // Loops may end earlier than their extents say, but nothing outside of the buffer is touched.
    footprint.begin = std::max(footprint.begin, footprint.low);
    footprint.end = std::min(footprint.end, footprint.slope * (root.extent - 1) + footprint.high);
    return footprint;
  }

  bool is_number(LoopVar var) const { return numbers_.count(var) != 0; }

  /// Of loops around what is looked at: one variable may belong to several, one after the other.
  Extents extents() const {
    return [this](LoopVar var) {
      const auto found = std::find_if(extents_.rbegin(), extents_.rend(),
                                      [&](const auto& loop) { return loop.first == var; });
      return found == extents_.rend() ? kernel_.extents[static_cast<size_t>(var)] : found->second;
    };
  }

  const Program& program_;
  const Program::Step& step_;
  const LoopKernel& kernel_;
  std::vector<std::pair<LoopVar, int64_t>> extents_;
  std::map<LoopVar, int64_t> numbers_;
  std::map<std::pair<BufferId, bool>, Footprint> found_;
  bool is_possible_ = true;
  bool streams_ = false;
};

/// A chain that grows as long as it may.
class Growing {
 public:
  Growing(const Cpu& cpu, size_t first)
      : cpu_(cpu), chain_{.first = first, .shifts = {}, .block_tasks = 0, .blocks = 0} {}

  /// Takes the step in, if it may run together with those before it.
  bool add(const Program::Step& step, const Reach& reach) {
    const std::vector<Footprint>& footprints = reach.footprints;
    if (steps_.size() == kMostSteps || streams_ || footprints.empty()) return false;
    int64_t shift = 0;
    int64_t least_tasks = least_tasks_;
    std::vector<int64_t> backwards(steps_.size(), INT64_MIN);
    for (size_t i = 0; i < steps_.size(); ++i) {
      const std::optional<Distance> distance = distance_of(*steps_[i], footprints);
      if (!distance) return false;
      if (!distance->is_any) continue;
      shift = std::max(shift, chain_.shifts[i] + distance->forwards);
      backwards[i] = distance->backwards;
    }
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (backwards[i] == INT64_MIN) continue;
      // A block that begins a step knows that the k-th before it has ended the k-th step before.
      const int64_t distance = shift - chain_.shifts[i] + backwards[i];
      least_tasks = std::max(least_tasks, divided_up(distance, static_cast<int64_t>(steps_.size() - i)));
    }
    std::set<std::pair<Place::Kind, int64_t>> places = places_;
    int64_t task_bytes = task_bytes_;
    for (const Footprint& one : footprints)
      if (places.emplace(one.place.kind, one.place.at).second) task_bytes += one.slope;
    if (task_bytes == 0 || least_tasks > cpu_.l2_bytes / 2 / task_bytes) return false;
    places_ = std::move(places);
    task_bytes_ = task_bytes;
    least_tasks_ = least_tasks;
    task_cost_ = std::max(task_cost_, step.kernel->nests[0].task_cost);
    most_tasks_ = std::max(most_tasks_, step.kernel->nests[0].root.extent);
    last_task_ = std::max(last_task_, step.kernel->nests[0].root.extent + shift);
    steps_.push_back(&footprints);
    streams_ = reach.streams;
    chain_.shifts.push_back(shift);
    return true;
  }

  /// Nullopt where it is not worth it.
  std::optional<StepChain> finish() {
    if (steps_.size() < 2) return std::nullopt;
    const int64_t fitting = std::min(cpu_.l2_bytes / 2 / task_bytes_, most_tasks_ / kLeastBlocks);
    chain_.block_tasks = std::max({fitting, least_tasks_, int64_t{1}});
    if (task_cost_ * static_cast<double>(chain_.block_tasks) < kLeastNanoseconds) return std::nullopt;
    chain_.blocks = divided_up(last_task_, chain_.block_tasks);
    if (chain_.blocks < kLeastBlocks) return std::nullopt;
    return std::move(chain_);
  }

 private:
  /// How many tasks behind and before its own a step may be that another one waits for.
  struct Distance {
    bool is_any = false;
    int64_t forwards = INT64_MIN;
    int64_t backwards = INT64_MIN;
  };

  /// Nullopt where they do not go through memory alike.
  static std::optional<Distance> distance_of(const std::vector<Footprint>& before,
                                             const std::vector<Footprint>& after) {
    Distance distance;
    for (const Footprint& a : before) {
      for (const Footprint& b : after) {
        if ((!a.is_written && !b.is_written) || !is_same_memory(a, b)) continue;
        if (!a.is_regular || !b.is_regular || a.slope != b.slope) return std::nullopt;
        distance.is_any = true;
        distance.forwards = std::max(distance.forwards, divided_up(b.high - a.low, a.slope) - 1);
        distance.backwards = std::max(distance.backwards, divided_up(a.high - b.low, a.slope) - 1);
      }
    }
    return distance;
  }

  const Cpu& cpu_;
  StepChain chain_;
  std::vector<const std::vector<Footprint>*> steps_;
  std::set<std::pair<Place::Kind, int64_t>> places_;
  int64_t task_bytes_ = 0;   ///< of all places
  int64_t least_tasks_ = 1;  ///< of a block
  int64_t most_tasks_ = 0;   ///< of a step
  int64_t last_task_ = 0;    ///< the end of all tasks, shifted
  double task_cost_ = 0;
  bool streams_ = false;  ///< the last one
};

/// Whether the second caches do not have room for all that it works on.
bool is_large(const Program::Step& step, const Cpu& cpu) {
  return step.bytes_read + step.bytes_written > 2 * cpu.l2_bytes;
}

}  // namespace

std::vector<StepChain> find_step_chains(const Program& program, const Cpu& cpu) {
  std::vector<StepChain> chains;
  if (!is_enabled(Part::blocking) || program.steps.size() < 2) return chains;
  std::vector<Reach> reaches;
  for (const Program::Step& step : program.steps)
    reaches.push_back(is_large(step, cpu) ? StepReach(program, step).run() : Reach{});
  for (size_t first = 0; first < program.steps.size();) {
    Growing growing(cpu, first);
    size_t end = first;
    while (end < program.steps.size() && growing.add(program.steps[end], reaches[end])) ++end;
    if (std::optional<StepChain> chain = growing.finish()) chains.push_back(std::move(*chain));
    first = std::max(end, first + 1);
  }
  return chains;
}

}  // namespace tokamak
