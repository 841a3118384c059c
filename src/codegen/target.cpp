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
#include <utility>
#include <vector>

#include "codegen/needed_passes.h"
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
  // With it LLVM 22 goes round in circles over shuffles of bytes of which few are needed.
  constexpr llvm::StringLiteral kEndless = "avx512vbmi";
  std::string features;
  if (cpu.name != "native") return features;
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
    if (!features.empty()) features += ',';
    const bool has = feature.getValue() && feature.getKey() != kEndless;
    features += (has ? '+' : '-') + feature.getKey().str();
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

/// LLVM's code generator with its passes, which write what they make to `bytes`.
class Generator {
 public:
  explicit Generator(const Cpu& cpu) : machine_(make_target_machine(cpu)), out_(bytes_) {}

  llvm::TargetMachine& machine() { return *machine_; }

  /// Assembly is for people to read, and objects are made in great numbers: only their passes are kept.
  llvm::SmallVector<char, 0> make(llvm::Module& module, llvm::CodeGenFileType kind) {
    if (kind == llvm::CodeGenFileType::ObjectFile) {
      if (passes_for_objects_ == nullptr) passes_for_objects_ = make_passes(kind);
      passes_for_objects_->run(module);
    } else {
      make_passes(kind)->run(module);
    }
    return std::exchange(bytes_, {});
  }

 private:
  std::unique_ptr<llvm::legacy::PassManager> make_passes(llvm::CodeGenFileType kind) {
    auto passes = std::make_unique<llvm::legacy::PassManager>();
    // Every load writes down its own index and mask; what follows takes time for each of them.
    // It asks about the target, as do those who follow: the first answer is kept.
    passes->add(llvm::createTargetTransformInfoWrapperPass(machine_->getTargetIRAnalysis()));
    passes->add(llvm::createEarlyCSEPass());
    NeededPasses needed(*passes);
    if (machine_->addPassesToEmitFile(needed, out_, nullptr, kind))
      throw InternalError("the code generator cannot write this kind of file");
    return passes;
  }

  std::unique_ptr<llvm::TargetMachine> machine_;
  llvm::SmallVector<char, 0> bytes_;
  llvm::raw_svector_ostream out_;
  std::unique_ptr<llvm::legacy::PassManager> passes_for_objects_;
};

/// The code generators of the process that nobody uses at the moment. Making one takes a millisecond, and its
/// passes half as long; each serves one thread at a time.
class IdleGenerators {
 public:
  static IdleGenerators& instance() {
    static auto* generators = new IdleGenerators;  // never destroyed: threads may compile until the very end
    return *generators;
  }

  std::unique_ptr<Generator> take(const Cpu& cpu) {
    {
      const std::lock_guard lock(mutex_);
      auto& idle = idle_[cpu.name];
      if (!idle.empty()) {
        auto generator = std::move(idle.back());
        idle.pop_back();
        return generator;
      }
    }
    return std::make_unique<Generator>(cpu);
  }

  void give_back(const Cpu& cpu, std::unique_ptr<Generator> generator) {
    const std::lock_guard lock(mutex_);
    idle_[cpu.name].push_back(std::move(generator));
  }

 private:
  IdleGenerators() { hold_while_forking(mutex_, LockKind::leaf); }

  std::mutex mutex_;
  std::map<std::string, std::vector<std::unique_ptr<Generator>>> idle_;
};

/// Does something with a code generator that nobody else uses meanwhile. One that an error came out of is not
/// used again.
template <class Work>
auto with_generator(const Cpu& cpu, Work work) {
  std::unique_ptr<Generator> generator = IdleGenerators::instance().take(cpu);
  auto result = work(*generator);
  IdleGenerators::instance().give_back(cpu, std::move(generator));
  return result;
}

}  // namespace

void set_target(llvm::Module& module, const Cpu& cpu) {
  with_generator(cpu, [&](Generator& generator) {
    module.setTargetTriple(generator.machine().getTargetTriple());
    module.setDataLayout(generator.machine().createDataLayout());
    return true;
  });
}

llvm::SmallVector<char, 0> machine_code(llvm::Module& module, const Cpu& cpu, llvm::CodeGenFileType kind) {
  return with_generator(cpu, [&](Generator& generator) { return generator.make(module, kind); });
}

}  // namespace tokamak::codegen
