#include "codegen/target.h"
#include "support/forking.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Pass.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/Triple.h>
#include <llvm/Transforms/Scalar.h>

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "tokamak/errors.h"

namespace tokamak::codegen {
namespace {

/// LLVM has no other way to leave a pass out of its code generator than the options of its command line.
/// They hold for the process, or rather for those who share this copy of LLVM with us.
void set_llvm_option(const char* name, const char* value) {
  auto& options = llvm::cl::getRegisteredOptions();
  if (auto found = options.find(name); found != options.end()) found->second->addOccurrence(1, name, value);
}

const llvm::Target& x86_target(const llvm::Triple& triple) {
  static const bool initialised = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    // It takes a quarter of the time of a kernel, to write addresses in other ways that are no faster: ours
    // are a pointer and a counter, which x86 adds up in the load.
    set_llvm_option("disable-lsr", "true");
    // A tenth of the time, to put instructions in another order once more: these processors find it
    // themselves.
    set_llvm_option("disable-post-ra", "true");
    return true;
  }();
  (void)initialised;
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (target == nullptr) throw InternalError("no code generator for " + triple.str() + ": " + error);
  return *target;
}

}  // namespace

std::string target_features(const Cpu& cpu) {
  std::string features;
  if (cpu.name != "native") return features;
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
    if (!features.empty()) features += ',';
    features += (feature.getValue() ? '+' : '-') + feature.getKey().str();
  }
  return features;
}

namespace {

std::unique_ptr<llvm::TargetMachine> make_target_machine(const Cpu& cpu) {
  const bool native = cpu.name == "native";
  const llvm::Triple triple(llvm::sys::getProcessTriple());
  const std::string name = native ? llvm::sys::getHostCPUName().str() : cpu.name;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;  // fuses nothing but what asks for it
  std::unique_ptr<llvm::TargetMachine> machine(x86_target(triple).createTargetMachine(
      triple, name, target_features(cpu), options, llvm::Reloc::PIC_, llvm::CodeModel::Small,
      llvm::CodeGenOptLevel::Default, /*JIT=*/true));
  if (machine == nullptr) throw InternalError("no code generator for processor " + name);
  return machine;
}

/// The code generators of the process that nobody uses at the moment. Making one takes a millisecond, and
/// each serves one thread at a time.
class IdleMachines {
 public:
  static IdleMachines& instance() {
    static auto* machines = new IdleMachines;  // never destroyed: threads may compile until the very end
    return *machines;
  }

  std::unique_ptr<llvm::TargetMachine> take(const Cpu& cpu) {
    {
      const std::lock_guard lock(mutex_);
      auto& idle = idle_[cpu.name];
      if (!idle.empty()) {
        auto machine = std::move(idle.back());
        idle.pop_back();
        return machine;
      }
    }
    return make_target_machine(cpu);
  }

  void give_back(const Cpu& cpu, std::unique_ptr<llvm::TargetMachine> machine) {
    const std::lock_guard lock(mutex_);
    idle_[cpu.name].push_back(std::move(machine));
  }

 private:
  IdleMachines() { hold_while_forking(mutex_, LockKind::leaf); }

  std::mutex mutex_;
  std::map<std::string, std::vector<std::unique_ptr<llvm::TargetMachine>>> idle_;
};

/// A code generator for the time of one use.
class Machine {
 public:
  explicit Machine(const Cpu& cpu) : cpu_(cpu), machine_(IdleMachines::instance().take(cpu)) {}
  ~Machine() { IdleMachines::instance().give_back(cpu_, std::move(machine_)); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  llvm::TargetMachine* operator->() const { return machine_.get(); }

 private:
  const Cpu& cpu_;
  std::unique_ptr<llvm::TargetMachine> machine_;
};

}  // namespace

void set_target(llvm::Module& module, const Cpu& cpu) {
  const Machine machine(cpu);
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
}

llvm::SmallVector<char, 0> machine_code(llvm::Module& module, const Cpu& cpu, llvm::CodeGenFileType kind) {
  const Machine machine(cpu);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  // Every load writes down its own index and mask; what follows takes time for each of them.
  // It asks about the target, as do those who follow: the first answer is kept.
  passes.add(llvm::createTargetTransformInfoWrapperPass(machine->getTargetIRAnalysis()));
  passes.add(llvm::createEarlyCSEPass());
  if (machine->addPassesToEmitFile(passes, out, nullptr, kind))
    throw InternalError("the code generator cannot write this kind of file");
  passes.run(module);
  return bytes;
}

}  // namespace tokamak::codegen
