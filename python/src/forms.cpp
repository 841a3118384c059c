#include "forms.h"

#include <algorithm>

namespace tokamak::python {

// -- One form

Form::Form(const nb::list& positional, const nb::list& names, const nb::list& named, const nb::object& table,
           bool distinct)
    : owner_(table), table_(nb::cast<CallTable*>(table)), distinct_(distinct) {
  for (nb::handle part : positional) positional_.push_back(Part::of(part));
  for (nb::handle name : names) names_.push_back(nb::borrow(name));
  for (nb::handle part : named) named_.emplace_back(nb::cast<size_t>(part[0]), Part::of(part[1]));
  for (const Part& part : positional_) leaf_count_ += part.leaf_count();
  for (const auto& [position, part] : named_) leaf_count_ += part.leaf_count();
}

bool Form::matches(const CallArguments& call, Found& found) const {
  if (call.positional.size() != positional_.size() || !has_names(call.names)) return false;
  for (size_t i = 0; i < positional_.size(); ++i) {
    if (!positional_[i].matches(call.positional[i], found)) return false;
  }
  for (const auto& [position, part] : named_) {
    if (!part.matches(call.named[position], found)) return false;
  }
  return !distinct_ || found.are_leaves_distinct();
}

bool Form::has_names(PyObject* names) const {
  const size_t count = names == nullptr ? 0 : static_cast<size_t>(PyTuple_GET_SIZE(names));
  if (count != names_.size()) return false;
  for (size_t i = 0; i < count; ++i) {
    PyObject* name = PyTuple_GET_ITEM(names, static_cast<Py_ssize_t>(i));
    if (name != names_[i].ptr() && PyUnicode_Compare(name, names_[i].ptr()) != 0) return false;
  }
  return true;
}

int Form::traverse(visitproc visit, void* arg) const {
  for (const Part& part : positional_) {
    if (const int stopped = part.traverse(visit, arg)) return stopped;
  }
  for (const auto& [position, part] : named_) {
    if (const int stopped = part.traverse(visit, arg)) return stopped;
  }
  Py_VISIT(owner_.ptr());
  return 0;
}

// -- All of them

bool Forms::call(const CallArguments& call, PyObject*& result) {
  for (size_t i = 0; i < forms_.size(); ++i) {
    const std::shared_ptr<const Form> form = forms_[i];  // kept: looking at arguments may run the collector
    Found found(form->leaf_count());
    if (!form->matches(call, found)) continue;
    Entry* entry = form->table().find(found.leaves, found.count, nullptr, 0);
    if (entry == nullptr) continue;
    if (i != 0 && i < forms_.size() && forms_[i] == form) std::swap(forms_[i], forms_[0]);
    result = changes_.apply(run_entry(*entry, found.leaves, found.count, found.has_arrays), call);
    return true;
  }
  return false;
}

void Forms::add(const nb::list& positional, const nb::list& names, const nb::list& named,
                const nb::object& table, bool distinct) {
  forms_.insert(forms_.begin(), std::make_shared<const Form>(positional, names, named, table, distinct));
  if (forms_.size() > capacity_) forms_.pop_back();
}

nb::object Forms::leaves_of(const nb::object& table, const nb::tuple& args, const nb::dict& kwargs) const {
  std::vector<PyObject*> positional, named;
  for (nb::handle value : args) positional.push_back(value.ptr());
  nb::list names;
  for (auto [name, value] : kwargs) {
    names.append(name);
    named.push_back(value.ptr());
  }
  const nb::tuple keywords(names);
  const std::vector<std::shared_ptr<const Form>> forms =
      forms_;  // looking at arguments may run the collector
  for (const std::shared_ptr<const Form>& form : forms) {
    Found found(form->leaf_count());
    if (!form->owner().is(table) || !form->matches({positional, keywords.ptr(), named.data()}, found))
      continue;
    nb::list leaves;
    for (size_t i = 0; i < found.count; ++i) leaves.append(nb::handle(found.leaves[i].object));
    return leaves;
  }
  return nb::none();
}

void Forms::drop(const nb::object& table) {
  const std::vector<std::shared_ptr<const Form>> before = forms_;  // what they let go of may look at this
  std::erase_if(forms_, [&](const auto& form) { return form->owner().is(table); });
}

void Forms::clear() {
  const std::vector<std::shared_ptr<const Form>> gone = std::move(forms_);
  forms_.clear();
}

int Forms::traverse(visitproc visit, void* arg) const {
  for (const auto& form : forms_) {
    if (const int stopped = form->traverse(visit, arg)) return stopped;
  }
  Py_VISIT(changes_.changed.ptr());
  Py_VISIT(changes_.container.ptr());
  return 0;
}

void bind_forms(nb::module_& module) {
  static PyType_Slot slots[] = {
      {Py_tp_traverse, reinterpret_cast<void*>(+[](PyObject* self, visitproc visit, void* arg) {
         Py_VISIT(Py_TYPE(self));
         return nb::inst_ready(self) ? nb::inst_ptr<Forms>(self)->traverse(visit, arg) : 0;
       })},
      {Py_tp_clear, reinterpret_cast<void*>(+[](PyObject* self) {
         nb::inst_ptr<Forms>(self)->clear();
         return 0;
       })},
      {0, nullptr},
  };
  nb::class_<Forms>(module, "Forms", nb::type_slots(slots))
      .def(nb::init<size_t, nb::object, nb::object>(), nb::arg("capacity"), nb::arg("changed"),
           nb::arg("container"))
      .def("add", &Forms::add, nb::arg("positional"), nb::arg("names"), nb::arg("named"), nb::arg("table"),
           nb::arg("distinct"))
      .def("leaves_of", &Forms::leaves_of, nb::arg("table"), nb::arg("args"), nb::arg("kwargs"))
      .def("drop", &Forms::drop, nb::arg("table"))
      .def("clear", &Forms::clear)
      .def("__len__", &Forms::size);
}

}  // namespace tokamak::python
