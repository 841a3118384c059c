#include "functions.h"

#include "numpy_api.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <vector>

#include "array.h"
#include "tokamak/functions.h"

namespace tokamak::python {
namespace {

using Ints = std::vector<int64_t>;
using Pairs = std::vector<std::pair<int64_t, int64_t>>;

const Array& array_in(nb::handle object) {
  const PythonArray* held = as_python_array(object.ptr());
  if (held == nullptr) throw InternalError("an operand is not a tokamak.Array");
  return held->array;
}

std::optional<Array> optional_array(nb::handle object) {
  if (object.is_none()) return std::nullopt;
  return array_in(object);
}

/// Runs `function`, which makes an Array of `operands`; other Python threads run meanwhile, unless it only
/// records.
template <class Function>
nb::object result_of(std::initializer_list<const Array*> operands, const Function& function) {
  for (const Array* operand : operands) {
    if (operand->is_traced()) return make_python_array(function());
  }
  Array result;
  {
    nb::gil_scoped_release release;
    result = function();
  }
  return make_python_array(std::move(result));
}

using Binary = Array (*)(const Operand&, const Operand&);

void bind_binary(nb::module_& module, const char* name, Binary function) {
  module.def(
      name,
      [function](nb::handle a, nb::handle b) {
        const Array& left = array_in(a);
        const Array& right = array_in(b);
        return result_of({&left, &right}, [&] { return function(left, right); });
      },
      nb::arg("a"), nb::arg("b"));
}

nb::object bound_tensordot(nb::handle a, nb::handle b, const Ints& a_axes, const Ints& b_axes) {
  const Array& left = array_in(a);
  const Array& right = array_in(b);
  return result_of({&left, &right}, [&] { return tensordot(left, right, a_axes, b_axes); });
}

nb::object bound_dot_general(nb::handle a, nb::handle b, const Ints& lhs_contract, const Ints& rhs_contract,
                             const Ints& lhs_batch, const Ints& rhs_batch) {
  const Array& left = array_in(a);
  const Array& right = array_in(b);
  return result_of({&left, &right}, [&] {
    return dot_general(left, right, {lhs_contract, rhs_contract, lhs_batch, rhs_batch});
  });
}

nb::object bound_einsum(const std::string& subscripts, const std::vector<nb::object>& operands) {
  std::vector<Operand> arrays;
  bool traced = false;
  for (const nb::object& operand : operands) {
    arrays.emplace_back(array_in(operand));
    traced |= array_in(operand).is_traced();
  }
  if (traced || arrays.empty()) return make_python_array(einsum(subscripts, arrays));
  return result_of({}, [&] { return einsum(subscripts, arrays); });
}

nb::object bound_window(nb::handle x, const Ints& axes, const Ints& sizes, const Ints& steps,
                        const Ints& dilations) {
  return make_python_array(window(array_in(x), axes, sizes, steps, dilations));
}

/// Padding as Python gives it: (low, high) per spatial axis; nothing means "same".
WindowOptions window_options(const Ints& stride, const std::optional<Pairs>& padding, const Ints& dilation) {
  WindowOptions options{stride, Padding::same(), dilation};
  if (!padding) return options;
  Ints low, high;
  for (auto [before, after] : *padding) {
    low.push_back(before);
    high.push_back(after);
  }
  options.padding = Padding(std::move(low), std::move(high));
  return options;
}

nb::object bound_conv(nb::handle x, nb::handle w, const Ints& stride, const std::optional<Pairs>& padding,
                      const Ints& dilation, int64_t groups, nb::handle bias) {
  const Array& image = array_in(x);
  const Array& kernels = array_in(w);
  const std::optional<Array> added = optional_array(bias);
  return result_of({&image, &kernels, added ? &*added : &image}, [&] {
    return conv(image, kernels, window_options(stride, padding, dilation), groups, added);
  });
}

nb::object bound_conv_transpose(nb::handle x, nb::handle w, const Ints& stride,
                                const std::optional<Pairs>& padding, const Ints& output_padding,
                                const Ints& dilation, int64_t groups, nb::handle bias) {
  const Array& image = array_in(x);
  const Array& kernels = array_in(w);
  const std::optional<Array> added = optional_array(bias);
  return result_of({&image, &kernels, added ? &*added : &image}, [&] {
    return conv_transpose(image, kernels, window_options(stride, padding, dilation), groups, output_padding,
                          added);
  });
}

nb::object bound_max_pool(nb::handle x, const Ints& size, const Ints& stride,
                          const std::optional<Pairs>& padding, const Ints& dilation) {
  const Array& image = array_in(x);
  return result_of({&image},
                   [&] { return max_pool(image, size, window_options(stride, padding, dilation)); });
}

nb::object bound_avg_pool(nb::handle x, const Ints& size, const Ints& stride,
                          const std::optional<Pairs>& padding, const Ints& dilation, bool count_include_pad) {
  const Array& image = array_in(x);
  return result_of({&image}, [&] {
    return avg_pool(image, size, window_options(stride, padding, dilation), count_include_pad);
  });
}

nb::object bound_batch_norm(nb::handle x, nb::handle mean, nb::handle var, nb::handle weight, nb::handle bias,
                            double eps) {
  const Array& image = array_in(x);
  const Array& means = array_in(mean);
  const Array& variances = array_in(var);
  const std::optional<Array> scale = optional_array(weight);
  const std::optional<Array> shift = optional_array(bias);
  return result_of({&image, &means, &variances, scale ? &*scale : &image, shift ? &*shift : &image},
                   [&] { return batch_norm(image, means, variances, scale, shift, eps); });
}

nb::object bound_attention(nb::handle q, nb::handle k, nb::handle v, nb::handle mask, bool causal,
                           std::optional<double> scale) {
  const Array& queries = array_in(q);
  const Array& keys = array_in(k);
  const Array& values = array_in(v);
  const std::optional<Array> masked = optional_array(mask);
  return result_of({&queries, &keys, &values, masked ? &*masked : &queries},
                   [&] { return attention(queries, keys, values, masked, causal, scale); });
}

}  // namespace

void bind_functions(nb::module_& module) {
  bind_binary(module, "matmul", matmul);
  bind_binary(module, "dot", dot);
  bind_binary(module, "inner", inner);
  bind_binary(module, "outer", outer);
  bind_binary(module, "vdot", vdot);
  module.def("tensordot", bound_tensordot, nb::arg("a"), nb::arg("b"), nb::arg("a_axes"), nb::arg("b_axes"));
  module.def("dot_general", bound_dot_general, nb::arg("a"), nb::arg("b"), nb::arg("lhs_contract"),
             nb::arg("rhs_contract"), nb::arg("lhs_batch"), nb::arg("rhs_batch"));
  module.def("einsum", bound_einsum, nb::arg("subscripts"), nb::arg("operands"));
  module.def("window", bound_window, nb::arg("x"), nb::arg("axes"), nb::arg("sizes"), nb::arg("steps"),
             nb::arg("dilations"));
  module.def("conv", bound_conv, nb::arg("x"), nb::arg("w"), nb::arg("stride"), nb::arg("padding").none(),
             nb::arg("dilation"), nb::arg("groups"), nb::arg("bias").none());
  module.def("conv_transpose", bound_conv_transpose, nb::arg("x"), nb::arg("w"), nb::arg("stride"),
             nb::arg("padding").none(), nb::arg("output_padding"), nb::arg("dilation"), nb::arg("groups"),
             nb::arg("bias").none());
  module.def("max_pool", bound_max_pool, nb::arg("x"), nb::arg("size"), nb::arg("stride"),
             nb::arg("padding").none(), nb::arg("dilation"));
  module.def("avg_pool", bound_avg_pool, nb::arg("x"), nb::arg("size"), nb::arg("stride"),
             nb::arg("padding").none(), nb::arg("dilation"), nb::arg("count_include_pad"));
  module.def("batch_norm", bound_batch_norm, nb::arg("x"), nb::arg("mean"), nb::arg("var"),
             nb::arg("weight").none(), nb::arg("bias").none(), nb::arg("eps"));
  module.def("attention", bound_attention, nb::arg("q"), nb::arg("k"), nb::arg("v"), nb::arg("mask").none(),
             nb::arg("causal"), nb::arg("scale").none());
}

}  // namespace tokamak::python
