#include "codegen/external.h"

#include "codegen/access_report.h"
#include "codegen/lanewise.h"
#include "ops/math/libm.h"
#include "support/transpose_tile.h"

namespace tokamak::codegen {

std::string transpose_symbol(int64_t element_bytes) {
  return "tokamak_transpose_" + std::to_string(element_bytes);
}

void* external_address(const std::string& name, const Cpu& cpu) {
  if (const LibmFunction* function = math::libm::function_named(name)) return function->address;
  if (name == kReportAccess) return reinterpret_cast<void*>(&report_access);
  for (const int64_t element_bytes : {1, 2, 4, 8}) {
    if (name == transpose_symbol(element_bytes))
      return reinterpret_cast<void*>(transpose_tile(element_bytes, cpu));
  }
  for (const Lane lane : {Lane::f32, Lane::f64}) {
    for (const int arity : {1, 2}) {
      if (name == lanewise_symbol(lane, arity)) return lanewise_address(lane, arity, cpu);
    }
  }
  return nullptr;
}

}  // namespace tokamak::codegen
