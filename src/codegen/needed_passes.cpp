#include "codegen/needed_passes.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Pass.h>
#include <llvm/PassInfo.h>
#include <llvm/PassRegistry.h>

#include <memory>

namespace tokamak::codegen {
namespace {

/// What they lower, our functions do not have; or they have never changed a kernel.
constexpr llvm::StringRef kLeftOut[] = {
    // Exceptions, garbage collection, jumps to computed addresses.
    "dwarf-eh-prepare",
    "gc-lowering",
    "shadow-stack-gc-lowering",
    "gc-analysis",
    "fixup-statepoint-caller-saved",
    "stackmap-liveness",
    "funclet-layout",
    "callbrprepare",
    "indirectbr-expand",
    "objc-arc-contract",
    // Protection against other programs, and marks for tools.
    "safe-stack",
    "post-inline-ee-instrument",
    "fentry-insert",
    "xray-instrumentation",
    "patchable-function",
    "kcfi",
    "machine-sanmd",
    "pseudo-probe-inserter",
    "cfi-instr-inserter",
    "stack-frame-layout",
    "regallocscoringpass",
    "remove-loads-into-fake-uses",
    "x86-lvi-load",
    "x86-lvi-ret",
    "x86-return-thunks",
    "x86-seses",
    "x86-slh",
    "x86-suppress-apx-for-relocation",
    // Variables of a source text.
    "livedebugvalues",
    "removeredundantdebugvalues",
    // Tiles of AMX: only routines of the library compute with them.
    "x86-lower-amx-intrinsics",
    "x86-lower-amx-type",
    "x86-lower-tile-copy",
    "tilepreconfig",
    "x86-tile-config",
    // Calls of memcmp, and of functions that LLVM knows; operations wider than registers; reductions; copies
    // of memory. All of them are written out, or called by an address.
    "mergeicmps",
    "expand-memcmp",
    "partially-inline-libcalls",
    "replace-with-veclib",
    "expand-ir-insts",
    "expand-reductions",
    "interleaved-access",
    "x86-partial-reduction",
    "pre-isel-intrinsic-lowering",
    // Variables on the stack whose lives are marked, or that are far away; arguments that are pushed.
    "stack-coloring",
    "localstackalloc",
    "x86-cf-opt",
    "x86argumentstackrebase",
    // Parts of registers that have lives of their own.
    "detect-dead-lanes",
    "init-undef",
    "rename-independent-subregs",
    // Large numbers of integer code; code where scalars would be cheaper as masks, branches as selections.
    "consthoist",
    "x86-domain-reassignment",
    "early-ifcvt",
    "early-tailduplication",
    "x86-fixup-setcc",
    "x86-optimize-leas",
    "x86-avoid-sfb",
};

llvm::StringRef name_of(const llvm::Pass& pass) {
  const llvm::PassInfo* info = llvm::PassRegistry::getPassRegistry()->getPassInfo(pass.getPassID());
  return info == nullptr ? llvm::StringRef() : info->getPassArgument();
}

}  // namespace

void NeededPasses::add(llvm::Pass* pass) {
  std::unique_ptr<llvm::Pass> owned(pass);  // as with other managers, what is added is theirs
  if (!llvm::is_contained(kLeftOut, name_of(*pass))) to_.add(owned.release());
}

llvm::ArrayRef<llvm::StringRef> passes_left_out() { return kLeftOut; }

}  // namespace tokamak::codegen
