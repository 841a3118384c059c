#pragma once

#include <optional>
#include <set>
#include <unordered_map>
#include <variant>

#include "ir/graph.h"
#include "passes/pending.h"

namespace tokamak {

/// What a rule makes of an operation: a value that is there already, or another operation, which is looked at
/// again.
using Rewrite = std::variant<Value, Pending>;

/// What view rules see: the graph being made, and a way to add operations that are composed themselves.
class ViewContext {
 public:
  explicit ViewContext(Graph& made) : made_(made) {}

  const Graph& graph() const { return made_; }
  const Shape& shape_of(Value value) const { return made_.type_of(value).shape; }

  /// The operand of `value` when it is made by `op`.
  std::optional<Value> operand_of(Value value, Op op) const {
    if (made_[value].op != op) return std::nullopt;
    return made_[value].inputs[0];
  }

  /// Adds the operation, composed as far as the rules reach.
  Value make(Pending pending, const SourceLocation& where);
  /// The location of the node being rewritten, for the nodes a rule adds on the way.
  const SourceLocation& where() const { return *where_; }
  Value make_inner(Pending pending) { return make(std::move(pending), *where_); }

  /// Whether concatenations show their pieces. One that only others like it look into does not: of a thousand
  /// writes to parts of an array only the last has a thousand pieces.
  bool is_wanted_flat() const { return wants_flat_; }
  void want_flat(bool wanted) { wants_flat_ = wanted; }
  void note_flat(Value made) {
    if (made_[made].op == Op::concatenate) flat_.insert(made);
  }
  /// Whether a concatenation shows so many pieces that others do better to read it: otherwise each of a
  /// hundred writes, with something that reads the array after every one, would have all pieces so far.
  bool is_read_as_it_is(Value concatenation) const {
    constexpr size_t kManyPieces = 6;
    return flat_.count(concatenation) != 0 && made_[concatenation].inputs.size() >= kManyPieces;
  }

  /// Where each operand of a concatenation begins on its axis; the total at the end.
  const std::vector<int64_t>& offsets_of(Value concatenation);

 private:
  Graph& made_;
  const SourceLocation* where_ = nullptr;
  int depth_ = 0;
  bool wants_flat_ = true;
  std::set<Value> flat_;  ///< concatenations that others read, too
  std::unordered_map<size_t, std::vector<int64_t>> offsets_;
};

/// Tries the rules that start from one operation; nothing when none applies.
using ViewRule = std::optional<Rewrite> (*)(ViewContext& context, const Pending& node);

std::optional<Rewrite> rewrite_transpose(ViewContext& context, const Pending& node);
std::optional<Rewrite> rewrite_reverse(ViewContext& context, const Pending& node);
std::optional<Rewrite> rewrite_reshape(ViewContext& context, const Pending& node);
std::optional<Rewrite> rewrite_broadcast(ViewContext& context, const Pending& node);
std::optional<Rewrite> rewrite_slice(ViewContext& context, const Pending& node);
std::optional<Rewrite> rewrite_dynamic_slice(ViewContext& context, const Pending& node);
std::optional<Rewrite> rewrite_concatenate(ViewContext& context, const Pending& node);
std::optional<Rewrite> rewrite_pad(ViewContext& context, const Pending& node);
std::optional<Rewrite> rewrite_reduction(ViewContext& context, const Pending& node);
std::optional<Rewrite> rewrite_elementwise(ViewContext& context, const Pending& node);

/// Whether axis `axis` of a broadcast from `from` to `to` repeats one element.
bool is_stretched(const Shape& from, const Shape& to, size_t axis);

/// Elements start, start + step, ... (count of them) of one axis.
struct AxisRange {
  int64_t start = 0;
  int64_t step = 1;
  int64_t count = 0;

  int64_t last() const { return start + (count - 1) * step; }
};
std::vector<AxisRange> ranges_of(const Attributes& slice, const Shape& operand);
/// The operand of a select that all these elements of it come from, where positions decide.
std::optional<Value> chosen_for(const Graph& graph, Value select, const std::vector<AxisRange>& ranges);
Attributes slice_attributes(const std::vector<AxisRange>& ranges);

}  // namespace tokamak
