#include "passes/compare.h"

namespace tokamak {

bool same_structure(const Graph& a, const Graph& b) {
  if (a.size() != b.size() || a.outputs() != b.outputs() || a.parameters() != b.parameters()) return false;
  for (size_t i = 0; i < a.parameters().size(); ++i) {
    if (a.parameter_name(i) != b.parameter_name(i)) return false;
  }
  for (size_t i = 0; i < a.size(); ++i) {
    const Node& x = a.nodes()[i];
    const Node& y = b.nodes()[i];
    if (x.op != y.op || x.type != y.type || x.inputs != y.inputs || x.attributes != y.attributes)
      return false;
  }
  return true;
}

}  // namespace tokamak
