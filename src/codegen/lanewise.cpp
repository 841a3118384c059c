#include "codegen/lanewise.h"

#include <map>
#include <memory>
#include <mutex>

#include "codegen/jit.h"
#include "codegen/module.h"
#include "codegen/target.h"

namespace tokamak::codegen {
namespace {

std::unique_ptr<LinkedObject> generate(const Cpu& cpu) {
  CodeModule code(cpu, "lanewise", /*keep_names=*/false);
  for (Lane lane : {Lane::f32, Lane::f64}) {
    for (int arity : {1, 2}) code.define_lanewise(lane, arity);
  }
  const auto object = machine_code(*code.module, cpu, llvm::CodeGenFileType::ObjectFile);
  return link_object({object.data(), object.size()}, "lanewise", {});
}

}  // namespace

std::string lanewise_symbol(Lane lane, int arity) {
  return "tokamak_each_f" + std::to_string(bits_of(lane)) + "_" + std::to_string(arity);
}

void* lanewise_address(Lane lane, int arity, const Cpu& cpu) {
  if (!cpu.runs_here) return nullptr;  // code to look at
  static std::mutex mutex;
  // Never destroyed: kernels held by static objects may call them until the very end.
  static auto* generated = new std::map<std::string, std::unique_ptr<LinkedObject>>;
  const std::lock_guard lock(mutex);
  std::unique_ptr<LinkedObject>& object = (*generated)[cpu.name];
  if (object == nullptr) object = generate(cpu);
  return object->address_of(lanewise_symbol(lane, arity));
}

}  // namespace tokamak::codegen
