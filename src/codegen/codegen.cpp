#include "codegen/codegen.h"

#include <llvm/IR/LegacyPassManager.h>
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
  return code;
}

llvm::SmallVector<char, 0> machine_code(CodeModule& code, llvm::CodeGenFileType kind) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  if (codegen::target_machine(code.cpu).addPassesToEmitFile(passes, out, nullptr, kind))
    throw InternalError("the code generator cannot write this kind of file");
  passes.run(*code.module);
  return bytes;
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
  auto object = machine_code(code, llvm::CodeGenFileType::ObjectFile);
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
  auto text = machine_code(code, llvm::CodeGenFileType::AssemblyFile);
  return {text.data(), text.size()};
}

void warm_up_codegen() {
  // out[i] = in[i], eight at a time: enough to load and initialise every part of the code generator.
  const TensorType type{DType::f32, {64}};
  LoopKernel kernel;
  kernel.name = "warm_up";
  kernel.buffers = {{"in", type, Buffer::Role::input, {4}}, {"out", type, Buffer::Role::output, {4}}};
  kernel.values = {DType::f32};
  kernel.variables = {"task", "i"};
  kernel.extents = {1, 64};
  auto inner = std::make_shared<Loop>();
  inner->var = LoopVar{1};
  inner->kind = LoopKind::vector;
  inner->extent = 64;
  inner->lanes = 8;
  inner->body = {Load{ValueId{0}, BufferId{0}, {Index::of(LoopVar{1})}, {}},
                 Store{BufferId{1}, {Index::of(LoopVar{1})}, ValueId{0}}};
  Nest nest;
  nest.root.var = LoopVar{0};
  nest.root.kind = LoopKind::parallel;
  nest.root.extent = 1;
  nest.root.body = {inner};
  kernel.nests = {nest};
  try {
    (void)compile(kernel, current_cpu());
  } catch (const UserError&) {
    // TOKAMAK_CPU names no processor we can use: said when something is compiled in earnest, not from here.
  }
}

}  // namespace tokamak
