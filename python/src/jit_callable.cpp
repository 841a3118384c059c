#include "jit_callable.h"

#include <structmember.h>

#include "bound_jit.h"
#include "call_table.h"
#include "errors.h"
#include "forms.h"

namespace tokamak::python {
namespace {

struct JitCallable {
  PyObject ob_base;
  vectorcallfunc vectorcall;
  PyObject* dict;
  PyObject* weak_references;
  PyObject* core;   ///< does what the hot path does not
  PyObject* owner;  ///< the Python object that holds the table
  CallTable* table;
  PyObject* forms_owner;
  Forms* forms;
  uint64_t static_mask;  ///< bit i: positional argument i is static
};

constexpr Py_ssize_t kMaxHotArguments = 16;

JitCallable* self_of(PyObject* object) { return reinterpret_cast<JitCallable*>(object); }

/// Calls with containers, objects, keywords: the result, or nullptr with the Python error set; false when no
/// program is known.
bool call_form(JitCallable* self, const CallArguments& call, PyObject*& result) {
  result = nullptr;
  if (self->forms->size() == 0) return false;
  try {
    return self->forms->call(call, result);
  } catch (nb::python_error& error) {
    error.restore();
  } catch (...) {
    raise_python_error(std::current_exception());
  }
  return true;
}

PyObject* call(PyObject* object, PyObject* const* arguments, size_t flagged_count, PyObject* keywords) {
  JitCallable* self = self_of(object);
  const Py_ssize_t count = PyVectorcall_NARGS(flagged_count);
  if (keywords == nullptr && count <= kMaxHotArguments) {
    Leaf leaves[kMaxHotArguments];
    PyObject* statics[kMaxHotArguments];
    size_t leaf_count = 0;
    size_t static_count = 0;
    Py_ssize_t i = 0;
    for (; i < count; ++i) {
      if (self->static_mask >> i & 1) {
        statics[static_count++] = arguments[i];
      } else if (!read_fast(arguments[i], leaves[leaf_count++])) {
        break;
      }
    }
    if (i == count) {
      if (Entry* entry = self->table->find(leaves, leaf_count, statics, static_count)) {
        return run_entry(*entry, leaves, leaf_count, false);
      }
    }
  }
  PyObject* result;
  const CallArguments all{{arguments, static_cast<size_t>(count)}, keywords, arguments + count};
  if (call_form(self, all, result)) return result;
  return PyObject_Vectorcall(self->core, arguments, flagged_count, keywords);
}

PyObject* make(PyTypeObject* type, PyObject* arguments, PyObject*) {
  PyObject* core = nullptr;
  PyObject* table = nullptr;
  PyObject* forms = nullptr;
  unsigned long long static_mask = 0;
  if (!PyArg_ParseTuple(arguments, "OOOK", &core, &table, &forms, &static_mask)) return nullptr;
  CallTable* pointer = nullptr;
  Forms* forms_pointer = nullptr;
  if (!nb::try_cast<CallTable*>(nb::handle(table), pointer) || pointer == nullptr ||
      !nb::try_cast<Forms*>(nb::handle(forms), forms_pointer) || forms_pointer == nullptr) {
    PyErr_SetString(PyExc_TypeError, "a JitCallable takes a core, a CallTable, Forms and a number");
    return nullptr;
  }
  JitCallable* self = self_of(type->tp_alloc(type, 0));
  if (self == nullptr) return nullptr;
  self->vectorcall = call;
  self->dict = nullptr;
  self->weak_references = nullptr;
  Py_INCREF(core);
  self->core = core;
  Py_INCREF(table);
  self->owner = table;
  self->table = pointer;
  Py_INCREF(forms);
  self->forms_owner = forms;
  self->forms = forms_pointer;
  self->static_mask = static_mask;
  return reinterpret_cast<PyObject*>(self);
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  JitCallable* self = self_of(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->dict);
  Py_VISIT(self->core);
  Py_VISIT(self->owner);
  Py_VISIT(self->forms_owner);
  return 0;
}

int clear(PyObject* object) {
  JitCallable* self = self_of(object);
  Py_CLEAR(self->dict);
  Py_CLEAR(self->core);
  return 0;  // the table and the forms stay: a call that is under way uses them
}

void dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  if (self_of(object)->weak_references != nullptr) PyObject_ClearWeakRefs(object);
  clear(object);
  Py_CLEAR(self_of(object)->owner);
  Py_CLEAR(self_of(object)->forms_owner);
  type->tp_free(object);
  Py_DECREF(type);
}

/// Methods of classes: f.__get__(instance) binds, as a function does.
PyObject* descriptor_get(PyObject* object, PyObject* instance, PyObject*) {
  if (instance == nullptr || instance == Py_None) {
    Py_INCREF(object);
    return object;
  }
  return make_bound_jit(object, instance);
}

/// What the callable does not have itself is the core's: explain, cache_info, ...
PyObject* get_attribute(PyObject* object, PyObject* name) {
  PyObject* found = PyObject_GenericGetAttr(object, name);
  if (found != nullptr || self_of(object)->core == nullptr || !PyErr_ExceptionMatches(PyExc_AttributeError))
    return found;
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(name, &size);
  if (text == nullptr || text[0] == '_') return nullptr;
  PyErr_Clear();
  return PyObject_GetAttr(self_of(object)->core, name);
}

PyObject* represent(PyObject* object) { return PyObject_Repr(self_of(object)->core); }

/// A class that is being made tells its attributes their names: so the core learns that it is a method.
PyObject* set_name(PyObject* object, PyObject* arguments) {
  PyObject* bound = PyObject_GetAttrString(self_of(object)->core, "set_name");
  if (bound == nullptr) return nullptr;
  PyObject* result = PyObject_CallObject(bound, arguments);
  Py_DECREF(bound);
  return result;
}

PyObject* reduce(PyObject* object, PyObject*) {
  return PyObject_CallMethod(self_of(object)->core, "reduce", "O", object);
}

/// Copies of functions are the functions themselves.
PyObject* copy(PyObject* object, PyObject*) {
  Py_INCREF(object);
  return object;
}

PyMethodDef kMethods[] = {
    {"__set_name__", set_name, METH_VARARGS, nullptr},
    {"__reduce__", reduce, METH_NOARGS, "Pickled by name where possible, as functions are"},
    {"__copy__", copy, METH_NOARGS, nullptr},
    {"__deepcopy__", copy, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef kMembers[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(JitCallable, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(JitCallable, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(JitCallable, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyGetSetDef kProperties[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot kSlots[] = {
    {Py_tp_doc, const_cast<char*>("A compiled function; what tokamak.jit returns")},
    {Py_tp_new, reinterpret_cast<void*>(make)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_descr_get, reinterpret_cast<void*>(descriptor_get)},
    {Py_tp_getattro, reinterpret_cast<void*>(get_attribute)},
    {Py_tp_repr, reinterpret_cast<void*>(represent)},
    {Py_tp_methods, kMethods},
    {Py_tp_members, kMembers},
    {Py_tp_getset, kProperties},
    {0, nullptr},
};

PyType_Spec kSpec = {
    "tokamak._native.JitCallable",
    sizeof(JitCallable),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    kSlots,
};

}  // namespace

bool bind_jit_callable(nb::module_& module) {
  PyObject* type = PyType_FromSpec(&kSpec);
  return type != nullptr && PyModule_AddObject(module.ptr(), "JitCallable", type) == 0;
}

}  // namespace tokamak::python
