#include "trace/apply.h"

#include <string>

#include "trace/array_impl.h"
#include "trace/eager.h"
#include "trace/trace.h"

namespace tokamak {

Array apply(Op op, std::span<const Array> inputs, Attributes attributes, const std::source_location& where) {
  Trace* trace = inputs.empty() ? Trace::current() : nullptr;
  for (const Array& input : inputs) {
    if (input.is_traced()) {
      trace = input.impl().recorded()->trace.get();
      break;
    }
  }
  if (trace != nullptr) return trace->record(op, inputs, std::move(attributes), user_line(where));
  return run_eagerly(op, inputs, attributes, where);
}

Array apply(Op op, std::initializer_list<Array> inputs, Attributes attributes,
            const std::source_location& where) {
  return apply(op, std::span<const Array>(inputs.begin(), inputs.size()), std::move(attributes), where);
}

}  // namespace tokamak
