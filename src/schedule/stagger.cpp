#include "schedule/stagger.h"

#include <algorithm>
#include <map>
#include <set>

#include "loops/walk.h"
#include "schedule/align.h"
#include "schedule/axes.h"
#include "schedule/transform.h"

namespace tokamak {
namespace {

/// The scratch of two rows stays in the second cache beside what is read and written.
constexpr int64_t kShareOfCache = 4;

/// Statements that a vector loop can run beside those of another one.
bool is_plain(const Stmt& stmt) {
  return std::holds_alternative<Literal>(stmt) || std::holds_alternative<IndexValue>(stmt) ||
         std::holds_alternative<Test>(stmt) || std::holds_alternative<Load>(stmt) ||
         std::holds_alternative<Compute>(stmt) || std::holds_alternative<Store>(stmt) ||
         std::holds_alternative<Accumulate>(stmt) || std::holds_alternative<Prefetch>(stmt);
}

/// Whether the two sweeps together need few enough registers: where there are 16, elements that are converted
/// on the way from memory and back leave none for the other one.
bool fit_registers(const LoopKernel& kernel, const Loop& one, const Loop& other, const Cpu& cpu) {
  auto is_narrow = [&](const Stmt& stmt) {
    const std::optional<Access> access = access_of(stmt);
    const auto dtype = access ? std::optional(kernel[access->buffer].type.dtype) : std::nullopt;
    return dtype == DType::f16 || dtype == DType::bf16;
  };
  return cpu.avx512 || (std::none_of(one.body.begin(), one.body.end(), is_narrow) &&
                        std::none_of(other.body.begin(), other.body.end(), is_narrow));
}

/// Whether it stores to results, and keeps nothing for what comes after it.
bool only_stores_results(const LoopKernel& kernel, const Loop& loop) {
  return std::all_of(loop.body.begin(), loop.body.end(), [&](const Stmt& stmt) {
    if (std::holds_alternative<Accumulate>(stmt)) return false;
    if (const auto* fetch = std::get_if<Prefetch>(&stmt)) return !depends_on_data(fetch->index);
    const auto* store = std::get_if<Store>(&stmt);
    return store == nullptr || kernel[store->buffer].role == Buffer::Role::output;
  });
}

bool stores_whole_lines(const LoopKernel& kernel, const Loop& loop) {
  return std::all_of(loop.body.begin(), loop.body.end(), [&](const Stmt& stmt) {
    const auto* store = std::get_if<Store>(&stmt);
    return store == nullptr || loop.extent % elements_in_line(kernel, store->buffer) == 0;
  });
}

/// Of a loop that stores to one buffer: that one.
std::optional<BufferId> only_result(const Loop& loop) {
  std::optional<BufferId> found;
  for (const Stmt& stmt : loop.body) {
    const auto* store = std::get_if<Store>(&stmt);
    if (store == nullptr) continue;
    if (found) return std::nullopt;
    found = store->buffer;
  }
  return found;
}

/// How much of a sweep two rows can go through together if one begins within a cache line: all but the end,
/// from where on one of them has too few elements left.
int64_t shared_part(const LoopKernel& kernel, const Loop& last, int64_t unit) {
  const int64_t begins_at_most = elements_in_line(kernel, *only_result(last)) - 1;
  return (last.extent - begins_at_most) / unit * unit;
}

/// Whether a last sweep that begins at a line leaves little over, and waits for more than memory: for what
/// took long enough to compute that it was kept.
bool is_worth_cutting(const LoopKernel& kernel, const Loop& last, int64_t unit) {
  const std::optional<BufferId> result = only_result(last);  // of several, each would begin elsewhere
  const bool reads_kept = std::any_of(last.body.begin(), last.body.end(), [&](const Stmt& stmt) {
    const auto* load = std::get_if<Load>(&stmt);
    return load != nullptr && kernel[load->buffer].role == Buffer::Role::scratch;
  });
  return result && reads_kept && elements_before_line(kernel, last, *result) &&
         shared_part(kernel, last, unit) >= last.extent / 4 * 3;
}

bool is_sweep(const Loop& loop) {
  return loop.kind == LoopKind::vector && !loop.bound &&
         std::all_of(loop.body.begin(), loop.body.end(), is_plain);
}

/// The scratch that the last sweep reads and that has to be there twice, so that the next row does not write
/// over it. What only the sweep writes that runs beside it, each element where it is read, is read first.
std::set<BufferId> needed_twice(const LoopKernel& kernel, const Loop& row, const Loop& joined,
                                const Loop& last) {
  std::map<BufferId, int> stores;
  walk(row, [&](const Stmt& stmt) {
    if (const auto* store = std::get_if<Store>(&stmt)) ++stores[store->buffer];
  });
  const auto is_replaced = [&](const Access& read) {
    return stores[read.buffer] == 1 &&
           std::any_of(joined.body.begin(), joined.body.end(), [&](const Stmt& stmt) {
             const auto* store = std::get_if<Store>(&stmt);
             return store != nullptr && store->buffer == read.buffer && store->index == *read.index;
           });
  };
  std::set<BufferId> twice;
  for (const Stmt& stmt : last.body) {
    const std::optional<Access> access = access_of(stmt);
    if (access && kernel[access->buffer].role == Buffer::Role::scratch && !is_replaced(*access))
      twice.insert(access->buffer);
  }
  return twice;
}

int64_t bytes_of_scratch(const LoopKernel& kernel, const std::set<BufferId>& twice) {
  int64_t bytes = 0;
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    if (kernel.buffers[i].role == Buffer::Role::scratch)
      bytes += (twice.count(static_cast<BufferId>(i)) != 0 ? 2 : 1) * kernel.buffers[i].type.bytes();
  }
  return bytes;
}

/// Takes a loop over rows apart, and puts it together again with the last sweep of each row in the next one.
///
/// Rows that are to be stored from a cache line on, and do not begin at one: the last sweep of a row is so
/// many elements ahead of the sweep that it runs with. What it has before that, and what either of them has
/// left at the end, are sweeps of their own.
class Staggering {
 public:
  Staggering(LoopKernel& kernel, Loop& rows, std::optional<int64_t> unit)
      : kernel_(kernel),
        unit_(unit),
        row_(rows.var),
        extents_(kernel.extents_function()),
        parity_(modulo(Index::of(rows.var), 2, extents_)) {
    std::vector<Stmt> fetches;  // of the last sweep, for rows to come
    for (Stmt& stmt : as_loop(rows.body.back())->body)
      (std::holds_alternative<Prefetch>(stmt) ? fetches : last_.body).push_back(std::move(stmt));
    rows.body.pop_back();
    for (Stmt& stmt : rows.body)
      (std::holds_alternative<Literal>(stmt) ? shared_ : own_.body).push_back(std::move(stmt));
    rows_ = std::move(rows);
    std::vector<Stmt>& joined = joined_sweep(own_.body).body;
    joined.insert(joined.begin(), fetches.begin(), fetches.end());
  }

  std::vector<Stmt> run() {
    keep_scratch_of_two_rows();
    carry_values();
    std::vector<Stmt> result = std::move(shared_);
    result.emplace_back(first());
    result.emplace_back(others());
    result.emplace_back(rest());
    return result;
  }

 private:
  /// What the last sweep reads from scratch must not be what the next row has put there.
  void keep_scratch_of_two_rows() {
    const std::set<BufferId> doubled = needed_twice(kernel_, own_, joined_sweep(own_.body), last_);
    for (BufferId id : doubled) {
      std::vector<int64_t>& shape = kernel_[id].type.shape;
      shape.insert(shape.begin(), 2);
    }
    auto double_access = [&](auto* access) {
      if (access != nullptr && doubled.count(access->buffer) != 0)
        access->index.insert(access->index.begin(), parity_);
    };
    for (Loop* part : {&own_, &last_}) {
      walk(*part, {.visit = [&](Stmt& stmt) {
        double_access(std::get_if<Load>(&stmt));
        double_access(std::get_if<Store>(&stmt));
      }});
    }
  }

  /// What is computed once for a row, and the last sweep needs, goes through scratch to the next row's turn.
  void carry_values() {
    std::map<ValueId, ValueId> names;
    for (const Stmt& stmt : last_.body)
      for_each_operand(stmt, [&](ValueId value) { names.emplace(value, value); });
    std::vector<Stmt> body;
    for (Stmt& stmt : own_.body) {
      body.push_back(std::move(stmt));
      const std::optional<ValueId> value = result_of(body.back());
      if (!value || names.count(*value) == 0) continue;
      const BufferId place = add_scratch(kernel_, "carried", {kernel_[*value], {2}});
      kernel_.values.push_back(kernel_[*value]);
      names[*value] = static_cast<ValueId>(kernel_.values.size() - 1);
      body.emplace_back(Store{place, {parity_}, *value});
      taken_up_.emplace_back(Load{names[*value], place, {parity_}, {}});
    }
    own_.body = std::move(body);
    for (Stmt& stmt : last_.body)
      rename_operands(stmt, [&](ValueId value) { return names.count(value) != 0 ? names[value] : value; });
  }

  /// A loop over rows, of which `row` is the one that its statements are about.
  std::shared_ptr<Loop> loop_of(int64_t extent, const Index& row, const std::vector<Stmt>& body) {
    auto loop = std::make_shared<Loop>(rows_);
    loop->extent = extent;
    loop->bound.reset();
    loop->body = deep_copy(body);
    substitute_variable(kernel_, *loop, row_, row);
    return loop;
  }

  std::shared_ptr<Loop> first() { return loop_of(1, Index(0), own_.body); }

  std::shared_ptr<Loop> others() {
    std::shared_ptr<Loop> loop = loop_of(rows_.extent - 1, Index::of(row_) + Index(1), own_.body);
    if (rows_.bound) loop->bound = *rows_.bound - Index(1);
    std::vector<Stmt> body = taken_up_;
    const Loop* joined = &joined_sweep(loop->body);
    for (Stmt& stmt : loop->body) {
      if (as_loop(stmt) == joined) {
        join(*as_loop(stmt), body);
      } else {
        body.push_back(std::move(stmt));
      }
    }
    loop->body = std::move(body);
    return loop;
  }

  /// The last sweep reads before the one of the next row, `own`, writes.
  void join(const Loop& own, std::vector<Stmt>& body) const {
    const Loop last = last_sweep(own);
    if (!unit_) {
      body.emplace_back(beside(last, own));
      return;
    }
    const BufferId result = only_result(last).value();
    const Index begin = elements_before_line(kernel_, last, result).value();
    const int64_t shared = shared_part(kernel_, last, *unit_), left = own.extent - shared;
    body.emplace_back(part(last, 0, elements_in_line(kernel_, result), begin));
    body.emplace_back(beside(*part(last, begin, shared), *part(own, 0, shared)));
    body.emplace_back(part(last, begin + Index(shared), left, Index(left) - begin));
    body.emplace_back(part(own, shared, left));
  }

  Loop last_sweep(const Loop& like) const {
    Loop sweep = like;
    sweep.body = last_.body;
    return sweep;
  }

  static std::shared_ptr<Loop> beside(Loop last, const Loop& own) {
    last.body.insert(last.body.end(), own.body.begin(), own.body.end());
    return std::make_shared<Loop>(std::move(last));
  }

  /// So many elements of a sweep from there on.
  std::shared_ptr<Loop> part(const Loop& sweep, const Index& begin, int64_t extent,
                             std::optional<Index> bound = std::nullopt) const {
    auto loop = std::make_shared<Loop>(sweep);
    loop->body = deep_copy(sweep.body);
    substitute_variable(kernel_, *loop, sweep.var, begin + Index::of(sweep.var));
    loop->extent = extent;
    loop->bound = std::move(bound);
    return loop;
  }

  std::shared_ptr<Loop> rest() {
    std::vector<Stmt> body = taken_up_;
    body.emplace_back(std::make_shared<Loop>(last_sweep(joined_sweep(own_.body))));
    return loop_of(1, last_row(), body);
  }

  /// Of what a row does in its own turn, the sweep that the last one of another row joins.
  static Loop& joined_sweep(std::vector<Stmt>& own) {
    return *as_loop(
        *std::find_if(own.rbegin(), own.rend(), [](const Stmt& stmt) { return as_loop(stmt) != nullptr; }));
  }

  /// Of a block of rows, of which the last one may be shorter: rows_.bound is all - extent * block.
  Index last_row() const {
    const Index full(rows_.extent - 1);
    if (!rows_.bound) return full;
    const std::vector<IndexTerm>& terms = rows_.bound->terms;
    const auto* block = terms.size() == 1 ? std::get_if<LoopVar>(&terms[0].atom) : nullptr;
    if (block == nullptr || terms[0].coefficient != -rows_.extent)
      throw InternalError("schedule: rows are staggered that are not those of a block");
    const int64_t blocks = extents_(*block);
    const Index is_last = divide(Index::of(*block) + Index(1), blocks, extents_);
    return full - is_last * (blocks * rows_.extent - rows_.bound->constant);
  }

  LoopKernel& kernel_;
  const std::optional<int64_t> unit_;  ///< see Stagger::from_lines
  const LoopVar row_;
  const Extents extents_;
  const Index parity_;
  Loop rows_;
  std::vector<Stmt> shared_;    ///< what is the same for all rows
  Loop own_;                    ///< what a row does in its own turn
  Loop last_;                   ///< its last sweep
  std::vector<Stmt> taken_up_;  ///< what that needs of its row, read again
};

}  // namespace

std::optional<Stagger> choose_stagger(const LoopKernel& kernel, LoopVar row, int64_t unit, bool streams,
                                      const Cpu& cpu) {
  if (kernel.nests.size() != 1) return std::nullopt;
  const Loop* rows = find_loop(kernel.nests[0].root, row);
  if (rows == nullptr || rows->kind != LoopKind::serial || rows->ordered || rows->bound) return std::nullopt;
  std::vector<const Loop*> sweeps;
  for (const Stmt& stmt : rows->body) {
    if (as_branch(stmt) != nullptr) return std::nullopt;
    if (const Loop* sweep = as_loop(stmt)) sweeps.push_back(sweep);
  }
  if (sweeps.size() < 2 || as_loop(rows->body.back()) == nullptr) return std::nullopt;
  const Loop& joined = *sweeps[sweeps.size() - 2];
  const Loop& last = *sweeps.back();
  if (joined.var != last.var || joined.extent != last.extent || joined.lanes != last.lanes ||
      !is_sweep(joined) || !is_sweep(last) || !fit_registers(kernel, joined, last, cpu) ||
      !only_stores_results(kernel, last))
    return std::nullopt;
  const bool is_ragged = !stores_whole_lines(kernel, last);
  const bool from_lines = is_ragged && is_worth_cutting(kernel, last, unit);
  if (is_ragged && streams && !from_lines) return std::nullopt;
  if (bytes_of_scratch(kernel, needed_twice(kernel, *rows, joined, last)) > cpu.l2_bytes / kShareOfCache)
    return std::nullopt;
  return Stagger{row, last.var, from_lines ? std::optional(unit) : std::nullopt};
}

void stagger(LoopKernel& kernel, const Stagger& decision) {
  replace_loops(kernel.nests[0].root, decision.row,
                [&](Loop& rows) { return Staggering(kernel, rows, decision.from_lines).run(); });
}

}  // namespace tokamak
