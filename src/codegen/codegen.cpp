#include "codegen/codegen.h"

#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "codegen/emit.h"
#include "codegen/kept_code.h"
#include "codegen/object_key.h"
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
  LinkedKernel(codegen::LinkedCode code, codegen::CodeRequest request) : object_(std::move(code.object)) {
    for (void* address : code.addresses) nests_.push_back(reinterpret_cast<NestFunction>(address));
    from_disk_ = code.from_disk;
    if (request.key) kept_ = {*request.key, std::move(request.name), std::move(request.symbols)};
  }

 private:
  std::unique_ptr<codegen::LinkedObject> object_;
};

codegen::ObjectCode object_code(const LoopKernel& kernel, const Cpu& cpu) {
  CodeModule code = generate(kernel, cpu, /*keep_names=*/false);
  if (verification_enabled()) verify_module(code);
  return codegen::object_code(code);
}

}  // namespace

std::shared_ptr<const NativeKernel> compile(const LoopKernel& kernel, const Cpu& cpu) {
  if (!cpu.runs_here)
    throw InternalError("compiling " + kernel.name + " for a processor that is not here: " + cpu.name);
  codegen::CodeRequest request{.name = kernel.name, .key = codegen::object_key(kernel, cpu), .cpu = cpu};
  for (size_t nest = 0; nest < kernel.nests.size(); ++nest)
    request.symbols.push_back(codegen::nest_symbol(kernel, nest));
  codegen::LinkedCode code = codegen::link_kept(request, [&] { return object_code(kernel, cpu); });
  return std::make_shared<LinkedKernel>(std::move(code), std::move(request));
}

std::shared_ptr<const NativeKernel> find_kept(const KeptCode& kept, const Cpu& cpu) {
  const auto& [key, name, symbols] = kept;
  codegen::CodeRequest request{.name = name, .symbols = symbols, .key = key, .cpu = cpu};
  std::optional<codegen::LinkedCode> code = codegen::find_linked(request);
  if (!code) return nullptr;
  return std::make_shared<LinkedKernel>(std::move(*code), std::move(request));
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
