#include "ops/index.h"

#include "ops/type_rules.h"

namespace tokamak::rules {
namespace {

void require_same_dtype(const TypeContext& context, const TensorType& type, std::string_view what) {
  if (type.dtype == context.inputs[0].dtype) return;
  context.fail("the " + std::string(what) + " " + to_string(type) + " has another dtype than the operand " +
                   to_string(context.inputs[0]) + "; convert one of them",
               UserError::Kind::type);
}

/// operand[:axis] + indices.shape + operand[axis+1:], after checking what gather and scatter have in common.
Shape indexed_shape(const TypeContext& context) {
  const TensorType& operand = context.inputs[0];
  const TensorType& indices = context.inputs[1];
  const size_t axis = require_axis(context, operand);
  if (!is_integer(indices.dtype)) {
    context.fail("indices " + to_string(indices) + " are not integers", UserError::Kind::type);
  }
  const bool ignores_all = context.attributes.word(Attr::mode) == Word::drop;
  if (operand.shape[axis] == 0 && indices.elements() != 0 && !ignores_all) {
    context.fail("axis " + std::to_string(axis) + " of " + to_string(operand) +
                     " is empty, there is nothing for " + std::to_string(indices.elements()) +
                     " indices to name",
                 UserError::Kind::index);
  }
  const auto begin = operand.shape.begin();
  const auto place = begin + static_cast<int64_t>(axis);
  Shape shape(begin, place);
  shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
  shape.insert(shape.end(), place + 1, operand.shape.end());
  return shape;
}

/// Inputs from `first` on are the start indices of a window, one scalar integer per axis of the operand.
void require_starts(const TypeContext& context, size_t first) {
  const TensorType& operand = context.inputs[0];
  const size_t given = context.inputs.size() - first;
  if (given != operand.shape.size()) {
    context.fail("takes one start for each of the " + std::to_string(operand.rank()) + " axes of " +
                 to_string(operand) + ", not " + std::to_string(given));
  }
  for (const TensorType& start : context.inputs.subspan(first)) {
    if (!is_integer(start.dtype) || start.rank() != 0) {
      context.fail("start " + to_string(start) + " is not a scalar integer", UserError::Kind::type);
    }
  }
}

void require_window(const TypeContext& context, const Shape& window) {
  const TensorType& operand = context.inputs[0];
  for (size_t axis = 0; axis < window.size(); ++axis) {
    if (window[axis] < 0 || window[axis] > operand.shape[axis]) {
      context.fail("a window of " + to_string(window) + " does not fit in " + to_string(operand) + ": axis " +
                   std::to_string(axis) + " is " + std::to_string(window[axis]) + " and " +
                   std::to_string(operand.shape[axis]));
    }
  }
}

void require_inputs(const TypeContext& context, size_t least, std::string_view what) {
  if (context.inputs.size() < least) context.fail("takes " + std::string(what));
}

}  // namespace

/// pad {low, high, interior}(operand, value): the scalar value before, after and between the elements of each
/// axis.
TensorType pad(const TypeContext& context) {
  const TensorType& from = context.inputs[0];
  const TensorType& value = context.inputs[1];
  if (value.rank() != 0) context.fail("the padding value " + to_string(value) + " is not a scalar");
  require_same_dtype(context, value, "padding value");
  TensorType to = from;
  for (Attr name : {Attr::low, Attr::high, Attr::interior}) {
    const Ints& amounts = require_per_axis(context, name, from);
    for (size_t axis = 0; axis < amounts.size(); ++axis) {
      int64_t extent = from.shape[axis];
      int64_t gaps = name == Attr::interior ? (extent > 0 ? extent - 1 : 0) : 1;
      if (amounts[axis] < 0) {
        context.fail("'" + std::string(name_of(name)) + "' of axis " + std::to_string(axis) + " is " +
                     std::to_string(amounts[axis]) + "; it must not be negative");
      }
      int64_t added = 0;
      if (__builtin_mul_overflow(gaps, amounts[axis], &added) ||
          __builtin_add_overflow(to.shape[axis], added, &to.shape[axis])) {
        context.fail("axis " + std::to_string(axis) + " of the padded " + to_string(from) + " is too large",
                     UserError::Kind::memory);
      }
    }
  }
  return to;
}

TensorType concatenate(const TypeContext& context) {
  require_inputs(context, 1, "at least one operand");
  TensorType to = context.inputs[0];
  const size_t axis = require_axis(context, to);
  for (size_t i = 1; i < context.inputs.size(); ++i) {
    const TensorType& next = context.inputs[i];
    if (next.dtype != to.dtype) {
      context.fail("operands have different dtypes " + std::string(name_of(to.dtype)) + " and " +
                       std::string(name_of(next.dtype)) + "; convert one of them",
                   UserError::Kind::type);
    }
    if (next.rank() != to.rank()) {
      context.fail("operands " + to_string(context.inputs[0]) + " and " + to_string(next) +
                   " have different ranks");
    }
    for (size_t k = 0; k < to.shape.size(); ++k) {
      if (k != axis && next.shape[k] != to.shape[k]) {
        context.fail("operands " + to_string(context.inputs[0]) + " and " + to_string(next) +
                     " differ on axis " + std::to_string(k) + ", which is " + std::to_string(to.shape[k]) +
                     " and " + std::to_string(next.shape[k]));
      }
    }
    if (__builtin_add_overflow(to.shape[axis], next.shape[axis], &to.shape[axis])) {
      context.fail("the result is too large", UserError::Kind::memory);
    }
  }
  return to;
}

bool may_fail(const Node& node) {
  return node.attributes.has(Attr::mode) && is_check(node.attributes.word(Attr::mode));
}

bool only_checks(const Graph& graph, const Node& node) {
  return may_fail(node) && node.type.elements() == 0 && graph.type_of(node.inputs[1]).elements() != 0;
}

UserError out_of_range(const Node& node, int64_t extent) {
  switch (node.attributes.word(Attr::mode)) {
    case Word::check_joined:
      return {std::string(name_of(node.op)) +
                  ": an index is out of bounds for one of the axes that are indexed together, which have " +
                  std::to_string(extent) + " elements",
              node.where, UserError::Kind::index};
    case Word::check_power:
      return {"np.power: Integers to negative integer powers are not allowed.", node.where};
    case Word::check_divisor:
      return {"division by zero", node.where, UserError::Kind::zero_division};
    case Word::check_empty:
      return {
          "zero-size array to reduction operation which has no identity: the mask is true nowhere, or all "
          "elements that are not to be NaN are (All-NaN slice encountered)",
          node.where};
    case Word::check_fits:
      return {
          "one of Python's numbers is out of bounds: integers have 64 bits among themselves and those of the "
          "dtype of an array that they meet, and floats have no complex powers; an argument named in "
          "static_argnames is computed with as Python does",
          node.where, UserError::Kind::overflow};
    case Word::check_number:
      return {"cannot convert float NaN to integer", node.where};
    case Word::check_bin:
      return {"np.bincount: an element is negative, or not below minlength=" + std::to_string(extent),
              node.where};
    case Word::check_range:
      return {
          "np.histogram: autodetected range of the data is not finite: it has NaN or an infinity; give "
          "range=",
          node.where};
    default:
      return {std::string(name_of(node.op)) + ": an index is out of bounds for axis " +
                  std::to_string(node.attributes.integer(Attr::axis)) + " with size " +
                  std::to_string(extent),
              node.where, UserError::Kind::index};
  }
}

TensorType gather(const TypeContext& context) {
  const Word mode = context.attributes.word(Attr::mode);
  if (mode != Word::clamp && !is_check(mode)) {
    context.fail("mode is '" + std::string(name_of(mode)) + "', not 'clamp' or 'check'");
  }
  return {context.inputs[0].dtype, indexed_shape(context)};
}

std::optional<Op> combining_op(Word combine) {
  if (combine < Word::add) return std::nullopt;
  return op_named(name_of(combine));
}

TensorType scatter(const TypeContext& context) {
  const TensorType& operand = context.inputs[0];
  const TensorType& updates = context.inputs[2];
  const Word mode = context.attributes.word(Attr::mode);
  if (mode != Word::clamp && !is_check(mode) && mode != Word::drop) {
    context.fail("mode is '" + std::string(name_of(mode)) + "', not 'clamp', 'check' or 'drop'");
  }
  const Word combine = context.attributes.word(Attr::combine);
  const std::optional<Op> op = combining_op(combine);
  if (!op && combine != Word::set) {
    context.fail("combine is '" + std::string(name_of(combine)) +
                 "', not 'set' or an operation of two numbers such as 'add'");
  }
  const Shape wanted = indexed_shape(context);
  if (op) {  // in the dtype of the updates; what is there is converted to it and back
    if (!contains(record_of(*op).dtypes, updates.dtype)) {
      context.fail("combine '" + std::string(name_of(combine)) + "' takes no " + to_string(updates),
                   UserError::Kind::type);
    }
  } else {
    require_same_dtype(context, updates, "updates");
  }
  if (updates.shape != wanted) {
    context.fail("updates " + to_string(updates) + " should have the shape " + to_string(wanted) +
                 " for operand " + to_string(operand) + " and indices " + to_string(context.inputs[1]));
  }
  return operand;
}

TensorType dynamic_slice(const TypeContext& context) {
  require_inputs(context, 1, "an operand and one start for each of its axes");
  const TensorType& operand = context.inputs[0];
  require_starts(context, 1);
  const Shape& sizes = require_per_axis(context, Attr::sizes, operand);
  require_window(context, sizes);
  return {operand.dtype, sizes};
}

TensorType dynamic_update_slice(const TypeContext& context) {
  require_inputs(context, 2, "an operand, an update and one start for each axis");
  const TensorType& operand = context.inputs[0];
  const TensorType& update = context.inputs[1];
  require_same_dtype(context, update, "update");
  if (update.rank() != operand.rank()) {
    context.fail("update " + to_string(update) + " and operand " + to_string(operand) +
                 " have different ranks");
  }
  require_starts(context, 2);
  require_window(context, update.shape);
  return operand;
}

}  // namespace tokamak::rules
