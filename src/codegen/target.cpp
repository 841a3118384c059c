#include "codegen/target.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/Triple.h>

#include <map>
#include <memory>

#include "tokamak/errors.h"

namespace tokamak::codegen {
namespace {

const llvm::Target& x86_target(const llvm::Triple& triple) {
  static const bool initialised = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)initialised;
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (target == nullptr) throw InternalError("no code generator for " + triple.str() + ": " + error);
  return *target;
}

std::string host_features() {
  std::string features;
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
    if (!features.empty()) features += ',';
    features += (feature.getValue() ? '+' : '-') + feature.getKey().str();
  }
  return features;
}

std::unique_ptr<llvm::TargetMachine> make_target_machine(const Cpu& cpu) {
  const bool native = cpu.name == "native";
  const llvm::Triple triple(llvm::sys::getProcessTriple());
  const std::string name = native ? llvm::sys::getHostCPUName().str() : cpu.name;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;  // fuses nothing but what asks for it
  std::unique_ptr<llvm::TargetMachine> machine(x86_target(triple).createTargetMachine(
      triple, name, native ? host_features() : "", options, llvm::Reloc::PIC_, llvm::CodeModel::Small,
      llvm::CodeGenOptLevel::Default, /*JIT=*/true));
  if (machine == nullptr) throw InternalError("no code generator for processor " + name);
  return machine;
}

}  // namespace

llvm::TargetMachine& target_machine(const Cpu& cpu) {
  thread_local std::map<std::string, std::unique_ptr<llvm::TargetMachine>> machines;
  auto& machine = machines[cpu.name];
  if (machine == nullptr) machine = make_target_machine(cpu);
  return *machine;
}

}  // namespace tokamak::codegen
