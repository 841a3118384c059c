#include "codegen/codegen.h"

#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "codegen/emit.h"
#include "codegen/jit.h"
#include "codegen/target.h"
#include "support/verification.h"

namespace tokamak {
namespace {

using codegen::CodeModule;

std::string text_of(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module.print(out, nullptr);
  return text;
}

void verify_module(const CodeModule& code) {
  std::string problem;
  llvm::raw_string_ostream out(problem);
  if (llvm::verifyModule(*code.module, &out))
    throw InternalError("generated LLVM IR is not valid: " + problem + "\n" + text_of(*code.module));
}

CodeModule generate(const LoopKernel& kernel, const Cpu& cpu, bool keep_names) {
  CodeModule code(cpu, kernel.name, keep_names);
  for (size_t nest = 0; nest < kernel.nests.size(); ++nest) codegen::emit_nest(kernel, nest, code);
  code.leave_numbers_in_memory();
  return code;
}

class LinkedKernel final : public NativeKernel {
 public:
  LinkedKernel(std::unique_ptr<codegen::LinkedObject> object, const LoopKernel& kernel)
      : object_(std::move(object)) {
    for (size_t nest = 0; nest < kernel.nests.size(); ++nest)
      nests_.push_back(
          reinterpret_cast<NestFunction>(object_->address_of(codegen::nest_symbol(kernel, nest))));
  }

 private:
  std::unique_ptr<codegen::LinkedObject> object_;
};

}  // namespace

std::shared_ptr<const NativeKernel> compile(const LoopKernel& kernel, const Cpu& cpu) {
  if (!cpu.runs_here)
    throw InternalError("compiling " + kernel.name + " for a processor that is not here: " + cpu.name);
  CodeModule code = generate(kernel, cpu, /*keep_names=*/false);
  if (verification_enabled()) {
    verify_module(code);
  }
  auto object = codegen::machine_code(*code.module, cpu, llvm::CodeGenFileType::ObjectFile);
  auto linked = codegen::link_object({object.data(), object.size()}, kernel.name, code.externals);
  return std::make_shared<LinkedKernel>(std::move(linked), kernel);
}

std::string emit_llvm(const LoopKernel& kernel, const Cpu& cpu) {
  CodeModule code = generate(kernel, cpu, /*keep_names=*/true);
  verify_module(code);
  return text_of(*code.module);
}

std::string emit_assembly(const LoopKernel& kernel, const Cpu& cpu) {
  CodeModule code = generate(kernel, cpu, /*keep_names=*/false);
  auto text = codegen::machine_code(*code.module, cpu, llvm::CodeGenFileType::AssemblyFile);
  return {text.data(), text.size()};
}

}  // namespace tokamak
