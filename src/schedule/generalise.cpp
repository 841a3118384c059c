#include "schedule/generalise.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "loops/walk.h"
#include "schedule/transform.h"

namespace tokamak {
namespace {

/// More are not worth reading for every call.
constexpr size_t kMostNumbers = 64;

/// A copy in a form in which more kernels are alike: dense buffers are accessed by position, and every loop
/// inside of a nest's root has a bound.
LoopKernel normalised(const LoopKernel& kernel) {
  LoopKernel copy = kernel;
  for (Nest& nest : copy.nests) nest.root.body = deep_copy(nest.root.body);
  flatten_dense_buffers(copy);
  for (Nest& nest : copy.nests) {
    walk(nest.root, {.enter = [&](Loop& loop) {
           if (&loop == &nest.root || (loop.bound && !loop.bound->is_constant())) return;
           if (loop.bound) loop.extent = std::min(loop.extent, loop.bound->constant);
           loop.bound = Index(loop.extent);
         }});
  }
  return copy;
}

Guard* guard_of(Stmt& stmt) {
  if (auto* load = std::get_if<Load>(&stmt)) return &load->guard;
  if (auto* test = std::get_if<Test>(&stmt)) return &test->guard;
  if (Branch* branch = as_branch(stmt)) return &branch->guard;
  return nullptr;
}

/// Whether nothing but its number of elements is known of the buffer, or its strides are not.
bool has_any_shape(const Buffer& buffer) {
  return buffer.type.shape.size() == 1 || buffer.role == Buffer::Role::partial ||
         std::ranges::find(buffer.strides, kDynamicStride) != buffer.strides.end();
}

/// Shows `on` all numbers of a normalised kernel that may differ, always in the same order: on.most those of
/// which the largest will do, on.index and on.guard those in expressions, on.literal others.
template <class On>
void visit_numbers(LoopKernel& kernel, On& on) {
  for (Buffer& buffer : kernel.buffers) {
    if (!has_any_shape(buffer)) continue;
    for (int64_t& extent : buffer.type.shape) on.most(extent);
  }
  for (int64_t& extent : kernel.extents) on.most(extent);
  for (Accumulator& accumulator : kernel.accumulators) {
    on.most(accumulator.parts);
    if (accumulator.parts_before) on.index(*accumulator.parts_before);
  }
  for (Nest& nest : kernel.nests) {
    on.most(nest.root.extent);  // how many tasks there are is said at run time
    NestVisitor visitor;
    visitor.enter = [&](Loop& loop) {
      if (&loop == &nest.root) return;
      if (loop.bound->is_constant()) on.most(loop.extent);
      on.index(*loop.bound);
    };
    visitor.visit = [&](Stmt& stmt) {
      if (auto* literal = std::get_if<Literal>(&stmt)) on.literal(*literal);
      for_each_index(stmt, [&](Index& index) { on.index(index); });
      if (Guard* guard = guard_of(stmt)) on.guard(*guard);
    };
    walk(nest.root, visitor);
  }
}

/// The atom with what `rewrite` makes of the index inside of it.
template <class Rewrite>
IndexAtom rewritten(const IndexAtom& atom, Rewrite rewrite) {
  auto inside = [&](const std::shared_ptr<const Index>& index) {
    return std::make_shared<const Index>(rewrite(*index));
  };
  if (const auto* q = std::get_if<Quotient>(&atom)) return Quotient{inside(q->numerator), q->divisor};
  if (const auto* r = std::get_if<Remainder>(&atom)) return Remainder{inside(r->numerator), r->divisor};
  if (const auto* s = std::get_if<Scaled>(&atom)) return Scaled{s->factor, inside(s->index)};
  return atom;
}

int64_t bytes_of(const Tensor& number) {
  int64_t bytes = 0;
  std::memcpy(&bytes, number.data(), number.byte_size());
  return bytes;
}

/// Notes numbers, and takes them out.
class TakeOut {
 public:
  explicit TakeOut(std::vector<int64_t>& numbers) : numbers_(numbers) {}

  void most(int64_t& number) { take(number, 0); }
  void index(Index& index) { index = without_numbers(index); }
  void literal(Literal& literal) {
    numbers_.push_back(bytes_of(literal.value));
    literal.value = Tensor(literal.value.type());
  }
  void guard(Guard& guard) {
    for (Condition& condition : guard) take(condition.low, 0), take(condition.high, 0);
  }

 private:
  void take(int64_t& number, int64_t instead) {
    numbers_.push_back(number);
    number = instead;
  }
  Index without_numbers(Index index) {
    take(index.constant, 0);
    for (IndexTerm& term : index.terms) {
      take(term.coefficient, 1);
      term.atom = rewritten(term.atom, [&](const Index& inside) { return without_numbers(inside); });
    }
    return index;
  }

  std::vector<int64_t>& numbers_;
};

/// Puts variables in the place of numbers that differ.
class PutVariables {
 public:
  PutVariables(LoopKernel& kernel, std::span<const std::vector<int64_t>* const> numbers)
      : kernel_(kernel), numbers_(numbers), values_(numbers.size()) {}

  void most(int64_t& number) { number = std::ranges::max(next_column()); }
  void index(Index& index) { index = with_variables(index); }
  void literal(Literal& literal) {
    const Column column = next_column();
    if (!is_one_number(column)) literal.bits = variable(column, known_literals_, 0);
  }
  void guard(Guard& guard) {
    Guard result;
    for (const Condition& condition : guard) {
      const Column lows = next_column(), highs = next_column();
      if (is_one_number(lows) && is_one_number(highs)) {
        result.push_back(condition);
        continue;
      }
      result.push_back({condition.index - sum_of(lows), 0, INT64_MAX});
      result.push_back({condition.index - sum_of(highs), INT64_MIN, 0});
    }
    guard = std::move(result);
  }

  bool is_possible() const { return is_possible_ && kernel_.numbers.size() <= kMostNumbers; }
  std::vector<std::vector<int64_t>> values() && { return std::move(values_); }

 private:
  using Column = std::vector<int64_t>;  ///< what a number is in each kernel

  Column next_column() {
    Column column;
    for (const std::vector<int64_t>* kernel : numbers_) column.push_back((*kernel)[next_]);
    ++next_;
    return column;
  }

  static bool is_one_number(const Column& column) {
    return std::ranges::all_of(column, [&](int64_t number) { return number == column[0]; });
  }

  using Variables = std::map<Column, LoopVar>;

  /// The variable that is these numbers, which stay below `extent`.
  LoopVar variable(const Column& column, Variables& known, int64_t extent) {
    const auto [place, is_new] = known.try_emplace(column, LoopVar{});
    if (is_new) {
      place->second = add_variable(kernel_, "n" + std::to_string(kernel_.numbers.size()), extent);
      kernel_.numbers.push_back(place->second);
      for (size_t i = 0; i < column.size(); ++i) values_[i].push_back(column[i]);
    }
    return place->second;
  }

  /// The least of them, and what each is more: columns that differ by a constant share a variable.
  Index sum_of(Column column) {
    const int64_t least = std::ranges::min(column);
    if (is_one_number(column)) return least;
    for (int64_t& number : column) number -= least;
    return Index::of(variable(column, known_, std::ranges::max(column) + 1)) + Index(least);
  }

  Index with_variables(const Index& index) {
    Index result = sum_of(next_column());
    for (const IndexTerm& term : index.terms) {
      const Column factors = next_column();
      const IndexAtom atom =
          rewritten(term.atom, [&](const Index& inside) { return with_variables(inside); });
      if (is_one_number(factors)) {
        result = result + Index::of_atom(atom) * term.coefficient;
      } else {
        is_possible_ = is_possible_ && std::ranges::min(factors) >= 0;
        const LoopVar factor = variable(factors, known_, std::ranges::max(factors) + 1);
        result = result + Index::scaled(factor, Index::of_atom(atom));
      }
    }
    return result;
  }

  LoopKernel& kernel_;
  std::span<const std::vector<int64_t>* const> numbers_;
  std::vector<std::vector<int64_t>> values_;
  Variables known_;
  Variables known_literals_;
  size_t next_ = 0;
  bool is_possible_ = true;
};

/// Loops that run equally often in all kernels need no bound for it.
void remove_constant_bounds(LoopKernel& kernel) {
  for (Nest& nest : kernel.nests) {
    walk(nest.root, {.enter = [&](Loop& loop) {
           if (&loop == &nest.root || !loop.bound->is_constant()) return;
           loop.bound.reset();
         }});
  }
}

}  // namespace

KernelShape shape_of(const LoopKernel& kernel) {
  KernelShape result{normalised(kernel), {}};
  TakeOut take_out(result.numbers);
  visit_numbers(result.shape, take_out);
  result.shape.name.clear();
  place_scratch(result.shape);
  return result;
}

std::optional<GeneralKernel> generalise(const LoopKernel& first,
                                        std::span<const std::vector<int64_t>* const> numbers) {
  GeneralKernel general{normalised(first), {}};
  PutVariables put_variables(general.kernel, numbers);
  visit_numbers(general.kernel, put_variables);
  if (!put_variables.is_possible()) return std::nullopt;
  general.numbers = std::move(put_variables).values();
  remove_constant_bounds(general.kernel);
  place_scratch(general.kernel);
  return general;
}

}  // namespace tokamak
