#include <set>

#include "loops/nest.h"
#include "loops/walk.h"

namespace tokamak {
namespace {

class Verifier {
 public:
  explicit Verifier(const LoopKernel& kernel) : kernel_(kernel) {}

  void run() {
    for (const Nest& nest : kernel_.nests) {
      if (nest.root.kind != LoopKind::parallel) fail("the root of a nest is not parallel");
      std::set<LoopVar> given(kernel_.numbers.begin(), kernel_.numbers.end());
      if (kernel_.range) given.insert({kernel_.range->first, kernel_.range->end});
      loop(nest.root, {}, std::move(given));
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw InternalError("loops of " + kernel_.name + ": " + what + "\n" + print(kernel_));
  }

  /// `values` and `variables` are what the body sees; copies, so that what it adds ends with it.
  void loop(const Loop& loop, std::set<ValueId> values, std::set<LoopVar> variables) {
    if (loop.kind == LoopKind::vector && loop.lanes < 1) fail("a vector loop without lanes");
    if (loop.bound) check_index(*loop.bound, variables);
    if (!variables.insert(loop.var).second) fail("a loop inside another one over the same variable");
    body(loop.body, std::move(values), variables);
  }

  void body(const std::vector<Stmt>& statements, std::set<ValueId> values,
            const std::set<LoopVar>& variables) {
    for (const Stmt& stmt : statements) {
      if (const Loop* inner = as_loop(stmt)) {
        if (inner->kind == LoopKind::parallel) fail("a parallel loop inside another loop");
        this->loop(*inner, values, variables);
        continue;
      }
      for_each_index(stmt, [&](const Index& index) { check_index(index, variables); });
      for_each_operand(stmt, [&](ValueId value) { check_defined(value, values); });
      check_access(stmt);
      if (const Branch* branch = as_branch(stmt)) {
        body(branch->body, values, variables);
        body(branch->otherwise, values, variables);
      }
      if (const std::optional<ValueId> result = result_of(stmt)) values.insert(*result);
    }
  }

  void check_index(const Index& index, const std::set<LoopVar>& variables) const {
    for_each_variable(index, [&](LoopVar var) {
      if (variables.count(var) == 0)
        fail("an index uses " + kernel_.variables[static_cast<size_t>(var)] + " outside its loop");
    });
  }

  void check_defined(ValueId value, const std::set<ValueId>& values) const {
    if (values.count(value) == 0)
      fail("v" + std::to_string(static_cast<uint32_t>(value)) + " is used where it is not defined");
  }

  void check_access(const Stmt& stmt) const {
    const std::optional<Access> access = access_of(stmt);
    if (!access) return;
    const Buffer& buffer = kernel_[access->buffer];
    if (access->index->size() != buffer.type.shape.size())
      fail("an access to " + buffer.name + " with the wrong rank");
  }

  const LoopKernel& kernel_;
};

}  // namespace

void verify(const LoopKernel& kernel) { Verifier(kernel).run(); }

}  // namespace tokamak
