#include "codegen/lanewise.h"

#include <map>
#include <memory>
#include <mutex>

#include "codegen/kept_code.h"
#include "codegen/module.h"
#include "codegen/object_key.h"
#include "codegen/target.h"
#include "support/forking.h"

namespace tokamak::codegen {
namespace {

ObjectCode generate(const Cpu& cpu) {
  CodeModule code(cpu, "lanewise", /*keep_names=*/false);
  for (Lane lane : {Lane::f32, Lane::f64}) {
    for (int arity : {1, 2}) code.define_lanewise(lane, arity);
  }
  return object_code(code);
}

LinkedCode link(const Cpu& cpu) {
  CodeRequest request{.name = "lanewise", .key = object_key("lanewise", cpu), .cpu = cpu};
  for (Lane lane : {Lane::f32, Lane::f64}) {
    for (int arity : {1, 2}) request.symbols.push_back(lanewise_symbol(lane, arity));
  }
  return link_kept(request, [&] { return generate(cpu); });
}

}  // namespace

std::string lanewise_symbol(Lane lane, int arity) {
  return "tokamak_each_f" + std::to_string(bits_of(lane)) + "_" + std::to_string(arity);
}

void* lanewise_address(Lane lane, int arity, const Cpu& cpu) {
  if (!cpu.runs_here) return nullptr;  // code to look at
  static auto* mutex = [] {
    auto* made = new std::mutex;
    hold_while_forking(*made, LockKind::outer);
    return made;
  }();
  // Never destroyed: kernels held by static objects may call them until the very end.
  static auto* linked = new std::map<std::string, LinkedCode>;
  const std::lock_guard lock(*mutex);
  LinkedCode& code = (*linked)[cpu.name];
  if (code.object == nullptr) code = link(cpu);
  return code.object->address_of(lanewise_symbol(lane, arity));
}

}  // namespace tokamak::codegen
