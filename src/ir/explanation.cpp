// When an explanation is made: the first time that somebody asks for some of it.

#include "tokamak/explanation.h"

#include <mutex>

#include "ir/op.h"
#include "support/forking.h"

namespace tokamak {
namespace {

/// Locks nothing but the moment in which the contents of an explanation are put into it.
std::mutex& publishing() {
  static auto* mutex = [] {
    auto* made = new std::mutex;
    hold_while_forking(*made, LockKind::leaf);
    return made;
  }();
  return *mutex;
}

void mark_written(Explanation::Contents& contents, size_t parameter) {
  for (std::vector<OperationReport>* operations : {&contents.traced, &contents.operations}) {
    size_t position = 0;
    for (OperationReport& one : *operations) {
      if (one.op != name_of(Op::parameter) || position++ != parameter) continue;
      one.is_written = true;
      one.is_dead = false;
    }
  }
}

}  // namespace

struct Explanation::Making {
  std::function<Contents()> make;
  std::vector<size_t> written;  ///< parameters
  std::unique_ptr<Contents> contents;
};

Explanation::Explanation(std::vector<StageTime> times, std::function<Contents()> make)
    : times_(std::move(times)), making_(std::make_shared<Making>()) {
  making_->make = std::move(make);
}

const Explanation::Contents& Explanation::contents() const {
  std::function<Contents()> make;
  {
    const std::lock_guard lock(publishing());
    if (making_->contents != nullptr) return *making_->contents;
    make = making_->make;
  }
  auto made = std::make_unique<Contents>(make());
  for (const size_t parameter : making_->written) mark_written(*made, parameter);
  const std::lock_guard lock(publishing());
  if (making_->contents == nullptr) making_->contents = std::move(made);
  making_->make = nullptr;
  return *making_->contents;
}

void Explanation::note_written(size_t parameter) {
  making_->written.push_back(parameter);
  if (making_->contents != nullptr) mark_written(*making_->contents, parameter);
}

}  // namespace tokamak
