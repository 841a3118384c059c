#include "ir/random_graph.h"

#include <algorithm>
#include <numeric>

#include "ir/random_maker.h"
#include "ops/record.h"

namespace tokamak::testing {

RandomMaker::RandomMaker(uint32_t seed, const RandomGraphOptions& options)
    : random_(seed), options_(options), graph_("random" + std::to_string(seed)) {
  for (const Shape& shape : options.shapes) most_elements_ = std::max(most_elements_, element_count(shape));
}

Graph RandomMaker::run() {
  const int parameters = pick(1, 4);
  for (int i = 0; i < parameters; ++i) parameter(dtype(), shape());
  while (static_cast<int>(graph_.size()) < options_.nodes) {
    try {
      if (pick(1, 100) <= options_.idioms) {
        add_idiom();
      } else {
        add_op();
      }
    } catch (const UserError&) {
      // Types did not fit: something else then.
    }
  }
  const std::vector<uint32_t> uses = count_uses(graph_);
  std::vector<Value> outputs;
  for (int i = pick(1, 3); i > 0; --i) {
    Value value = any_value();
    // Rather one that nothing reads: otherwise most of the graph is dead.
    for (int attempt = 0; attempt < 4 && uses[index_of(value)] != 0; ++attempt) value = any_value();
    outputs.push_back(value);
  }
  outputs.push_back(static_cast<Value>(graph_.size() - 1));
  // What is dead is not computed, nor are its indices checked: whoever compares errors wants them all. What
  // has no elements is dead where it is a part of something.
  std::vector<bool> live(graph_.size(), false);
  for (Value output : outputs) live[index_of(output)] = true;
  for (size_t i = graph_.size(); i-- > 0;) {
    const Node& node = graph_.nodes()[i];
    const bool checks = node.attributes.has(Attr::mode) && is_check(node.attributes.word(Attr::mode));
    if (checks && (!live[i] || node.type.elements() == 0)) {
      outputs.push_back(static_cast<Value>(i));
      live[i] = true;
    }
    for (Value input : node.inputs) live[index_of(input)] = live[index_of(input)] || live[i];
  }
  graph_.set_outputs(outputs);
  GraphRewriter parameters_first(graph_);
  for (size_t i = 0; i < graph_.size(); ++i) {
    const auto value = static_cast<Value>(i);
    if (graph_[value].op != Op::parameter) parameters_first.copy(value);
  }
  return parameters_first.finish();
}

DType RandomMaker::dtype() { return kAllDTypes[static_cast<size_t>(pick(0, std::size(kAllDTypes) - 1))]; }

Shape RandomMaker::shape() {
  static const Shape kShapes[] = {{},     {1},    {3},       {4},       {2, 3}, {3, 4},
                                  {1, 4}, {3, 1}, {2, 3, 4}, {2, 1, 4}, {0, 4}, {5}};
  if (!options_.shapes.empty())
    return options_.shapes[static_cast<size_t>(pick(0, static_cast<int>(options_.shapes.size()) - 1))];
  return kShapes[static_cast<size_t>(pick(0, std::size(kShapes) - 1))];
}

Shape RandomMaker::shape_between(int least_axes, int most_axes, int low, int high) {
  Shape made(static_cast<size_t>(pick(least_axes, most_axes)));
  for (int64_t& extent : made) extent = pick(low, high);
  return made;
}

int64_t RandomMaker::some_axis(Value of) {
  const int64_t rank = type_of(of).rank();
  return rank == 0 ? 0 : pick(0, static_cast<int>(rank) - 1);
}

Ints RandomMaker::some_axes(int64_t rank) {
  Ints axes;
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (chance(2)) axes.push_back(axis);
  }
  return axes;
}

void RandomMaker::add_op() {
  const Op op = static_cast<Op>(pick(0, static_cast<int>(kOpCount) - 1));
  switch (family_of(op)) {
    case OpFamily::Source:
      if (op == Op::constant) {
        constant(dtype(), shape());
      } else if (op == Op::iota) {
        const Shape of = {pick(1, 3), pick(1, 4)};
        graph_.add(op, {}, {{Attr::shape, of}, {Attr::axis, int64_t{pick(0, 1)}}, {Attr::dtype, dtype()}});
      }
      return;
    case OpFamily::Elementwise:
      return add_elementwise(op);
    case OpFamily::View:
      return add_view(op, any_value());
    case OpFamily::Index:
      return add_index(op, any_value());
    case OpFamily::Contract:
      return add_product(op, any_value());
    case OpFamily::Reduce:
    case OpFamily::Cumulative:
    case OpFamily::Sort:
      return add_reduction(op, any_value());
  }
}

/// Pairs of axes with equal extents are matched, or summed over, or left alone.
void RandomMaker::add_product(Op op, Value lhs) {
  const TensorType left = type_of(lhs);
  if (left.elements() > most_elements_ || (options_.exact_only && is_float(left.dtype))) return;
  const Value rhs = companion(lhs);
  const Shape& right = type_of(rhs).shape;
  Ints lists[4];  // batch and contracted axes of the first, and of the second
  std::vector<bool> taken(right.size(), false);
  for (size_t i = 0; i < left.shape.size(); ++i) {
    const int kind = pick(0, 2);
    for (size_t j = 0; j < right.size() && kind != 2; ++j) {
      if (taken[j] || right[j] != left.shape[i]) continue;
      lists[kind].push_back(static_cast<int64_t>(i));
      lists[2 + kind].push_back(static_cast<int64_t>(j));
      taken[j] = true;
      break;
    }
  }
  graph_.add(op, {lhs, rhs},
             {{Attr::lhs_batch, lists[0]},
              {Attr::rhs_batch, lists[2]},
              {Attr::lhs_contract, lists[1]},
              {Attr::rhs_contract, lists[3]}});
}

DType RandomMaker::other_as_large(DType like) {
  for (;;) {
    const DType other = dtype();
    if (size_of(other) == size_of(like) && (is_integer(other) || !options_.exact_only)) return other;
  }
}

void RandomMaker::add_elementwise(Op op) {
  const Value first = any_value();
  if (options_.exact_only && op == Op::pow) return;
  if (op == Op::bitcast) {
    const DType from = type_of(first).dtype;
    if (options_.exact_only && !is_integer(from)) return;  // the bits of a NaN are not specified
    graph_.add(op, {first}, {{Attr::dtype, other_as_large(from)}});
  } else if (op == Op::convert) {
    graph_.add(op, {first}, {{Attr::dtype, dtype()}});
  } else if (op == Op::select) {
    Value condition = any_value();
    if (type_of(condition).dtype != DType::boolean) condition = constant(DType::boolean, {});
    graph_.add(op, {condition, first, companion(first)});
  } else {
    std::vector<Value> inputs = {first};
    for (int i = 1; i < info(op).arity; ++i) inputs.push_back(companion(first));
    if (inputs.size() == 2 && pick(0, 1) == 0) std::swap(inputs[0], inputs[1]);
    graph_.add(op, inputs);
  }
}

void RandomMaker::add_view(Op op, Value of) {
  const Shape from = type_of(of).shape;
  const auto rank = static_cast<int64_t>(from.size());
  if (op == Op::broadcast) {
    Shape to = from;
    for (int64_t& extent : to) extent = extent == 1 ? pick(1, 3) : extent;
    if (rank < 3 && pick(0, 1) == 0) to.insert(to.begin(), pick(1, 2));
    graph_.add(op, {of}, {{Attr::shape, to}});
  } else if (op == Op::reshape) {
    graph_.add(op, {of}, {{Attr::shape, reshaped(from)}});
  } else if (op == Op::transpose) {
    Ints permutation(from.size());
    std::iota(permutation.begin(), permutation.end(), 0);
    std::shuffle(permutation.begin(), permutation.end(), random_);
    graph_.add(op, {of}, {{Attr::permutation, permutation}});
  } else if (op == Op::reverse) {
    graph_.add(op, {of}, {{Attr::axes, some_axes(rank)}});
  } else if (op == Op::window) {
    if (type_of(of).elements() > most_elements_) return;
    const Ints axes = some_axes(rank);
    Ints sizes, steps, dilations;
    for (size_t i = 0; i < axes.size(); ++i) {
      sizes.push_back(pick(1, 3));
      steps.push_back(pick(1, 2));
      dilations.push_back(pick(1, 2));
    }
    graph_.add(
        op, {of},
        {{Attr::axes, axes}, {Attr::sizes, sizes}, {Attr::steps, steps}, {Attr::dilations, dilations}});
  } else {
    Ints starts, limits, steps;
    for (int64_t extent : from) {
      starts.push_back(pick(0, static_cast<int>(std::min<int64_t>(extent, 2))));
      limits.push_back(pick(static_cast<int>(starts.back()), static_cast<int>(extent)));
      steps.push_back(pick(1, 3));
    }
    graph_.add(op, {of}, {{Attr::starts, starts}, {Attr::limits, limits}, {Attr::steps, steps}});
  }
}

Shape RandomMaker::reshaped(const Shape& from) {
  Shape to = from;
  switch (pick(0, 3)) {
    case 0:
      return {element_count(from)};
    case 1:
      to.insert(to.begin() + pick(0, static_cast<int>(to.size())), 1);
      return to;
    case 2:
      std::reverse(to.begin(), to.end());
      return to;
    default:
      std::erase(to, 1);
      return to;
  }
}

void RandomMaker::add_index(Op op, Value of) {
  const TensorType type = type_of(of);
  const int64_t axis = type.rank() == 0 ? 0 : pick(0, static_cast<int>(type.rank()) - 1);
  std::vector<Value> inputs = {of};
  if (op == Op::concatenate) {
    for (int i = pick(0, 2); i > 0; --i) inputs.push_back(pick(0, 1) == 0 ? of : companion(of));
    graph_.add(op, inputs, {{Attr::axis, axis}});
  } else if (op == Op::pad) {
    Ints low, high, interior;
    for (int64_t i = 0; i < type.rank(); ++i) {
      low.push_back(pick(0, 2));
      high.push_back(pick(0, 2));
      interior.push_back(pick(0, 3) == 0 ? 1 : 0);
    }
    if (type.elements() > most_elements_) return;
    graph_.add(op, {of, constant(type.dtype, {})},
               {{Attr::low, low}, {Attr::high, high}, {Attr::interior, interior}});
  } else if (op == Op::gather) {
    if (type.rank() == 0) return;
    const Word mode = options_.checks && chance(2) ? Word::check : Word::clamp;
    const Value places = indices(few_places(), type.shape[static_cast<size_t>(axis)], mode);
    if (type.elements() > most_elements_) return;
    graph_.add(op, {of, places}, {{Attr::axis, axis}, {Attr::mode, mode}});
  } else if (op == Op::scatter) {
    add_scatter(of, axis);
  } else {
    Shape window;
    for (int64_t extent : type.shape) window.push_back(pick(0, static_cast<int>(extent)));
    if (op == Op::dynamic_update_slice) inputs.push_back(operand(type.dtype, window));
    for (int64_t extent : type.shape) inputs.push_back(indices({}, extent, Word::clamp));
    Attributes attributes;
    if (op == Op::dynamic_slice) attributes.set(Attr::sizes, window);
    graph_.add(op, inputs, attributes);
  }
}

/// The shape of a few indices.
Shape RandomMaker::few_places() { return one_of<Shape>({{}, {}, {1}, {3}, {0}, {2, 3}}); }

void RandomMaker::add_scatter(Value of, int64_t axis) {
  const TensorType type = type_of(of);
  if (type.rank() == 0) return;
  const Word mode = options_.checks && chance(3) ? Word::check : one_of({Word::clamp, Word::drop});
  const Value places = indices(few_places(), type.shape[static_cast<size_t>(axis)], mode);
  const Shape& indexed = type_of(places).shape;
  Shape updates = type.shape;
  updates.erase(updates.begin() + axis);
  updates.insert(updates.begin() + axis, indexed.begin(), indexed.end());
  const auto combine = static_cast<Word>(pick(static_cast<int>(Word::set), kWordCount - 1));
  if (options_.exact_only && combine == Word::pow) return;
  const DType dtype = combine != Word::set && chance(4) ? this->dtype() : type.dtype;
  graph_.add(Op::scatter, {of, places, operand(dtype, updates)},
             {{Attr::axis, axis}, {Attr::mode, mode}, {Attr::combine, combine}});
}

void RandomMaker::add_reduction(Op op, Value of) {
  const TensorType& type = type_of(of);
  const bool folds = op == Op::reduce_sum || op == Op::reduce_prod;
  if (options_.exact_only && folds && is_float(type.dtype)) return;
  if (op == Op::argmax || op == Op::argmin || family_of(op) == OpFamily::Cumulative ||
      family_of(op) == OpFamily::Sort) {
    graph_.add(op, {of},
               {{Attr::axis, int64_t{type.rank() == 0 ? 0 : pick(0, static_cast<int>(type.rank()) - 1)}}});
  } else {
    graph_.add(op, {of}, {{Attr::axes, some_axes(type.rank())}});
  }
}

Graph random_graph(uint32_t seed, const RandomGraphOptions& options) {
  return RandomMaker(seed, options).run();
}

}  // namespace tokamak::testing
