#include "bound_jit.h"

#include <structmember.h>

#include <vector>

namespace tokamak::python {
namespace {

/// Python's own methods hand everything on to their function, which then does not know the instance:
/// `explain` needs it.
struct BoundJit {
  PyObject ob_base;
  vectorcallfunc vectorcall;
  PyObject* function;
  PyObject* instance;
  PyObject* weak_references;
};

PyTypeObject* bound_type = nullptr;  ///< lives as long as the interpreter

BoundJit* self_of(PyObject* object) { return reinterpret_cast<BoundJit*>(object); }

PyObject* call(PyObject* object, PyObject* const* arguments, size_t flagged_count, PyObject* keywords) {
  BoundJit* self = self_of(object);
  const Py_ssize_t count = PyVectorcall_NARGS(flagged_count);
  if (flagged_count & PY_VECTORCALL_ARGUMENTS_OFFSET) {  // there is room in front of the arguments
    PyObject** all = const_cast<PyObject**>(arguments) - 1;
    PyObject* before = all[0];
    all[0] = self->instance;
    PyObject* result = PyObject_Vectorcall(self->function, all, static_cast<size_t>(count) + 1, keywords);
    all[0] = before;
    return result;
  }
  const Py_ssize_t named = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
  std::vector<PyObject*> all{self->instance};
  all.insert(all.end(), arguments, arguments + count + named);
  return PyObject_Vectorcall(self->function, all.data(), static_cast<size_t>(count) + 1, keywords);
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self_of(object)->function);
  Py_VISIT(self_of(object)->instance);
  return 0;
}

void dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  if (self_of(object)->weak_references != nullptr) PyObject_ClearWeakRefs(object);
  Py_CLEAR(self_of(object)->function);
  Py_CLEAR(self_of(object)->instance);
  type->tp_free(object);
  Py_DECREF(type);
}

/// explain takes the arguments of a call, of which the instance is the first. What else a function has, its
/// methods have.
PyObject* get_attribute(PyObject* object, PyObject* name) {
  const bool is_functions = PyUnicode_CompareWithASCIIString(name, "__doc__") == 0 ||
                            PyUnicode_CompareWithASCIIString(name, "__module__") == 0;
  if (!is_functions && _PyType_Lookup(Py_TYPE(object), name) != nullptr)
    return PyObject_GenericGetAttr(object, name);
  if (PyUnicode_CompareWithASCIIString(name, "__copy__") == 0 ||
      PyUnicode_CompareWithASCIIString(name, "__deepcopy__") == 0) {  // a copy is bound, too: see reduce
    PyErr_SetObject(PyExc_AttributeError, name);
    return nullptr;
  }
  PyObject* found = PyObject_GetAttr(self_of(object)->function, name);
  if (found == nullptr || PyUnicode_CompareWithASCIIString(name, "explain") != 0) return found;
  PyObject* bound = PyMethod_New(found, self_of(object)->instance);
  Py_DECREF(found);
  return bound;
}

PyObject* compare(PyObject* one, PyObject* other, int operation) {
  if ((operation != Py_EQ && operation != Py_NE) || Py_TYPE(one) != Py_TYPE(other)) Py_RETURN_NOTIMPLEMENTED;
  const bool equal = self_of(one)->function == self_of(other)->function &&
                     self_of(one)->instance == self_of(other)->instance;
  return PyBool_FromLong(equal == (operation == Py_EQ));
}

Py_hash_t hash(PyObject* object) {
  const Py_hash_t made =
      _Py_HashPointer(self_of(object)->function) ^ _Py_HashPointer(self_of(object)->instance);
  return made == -1 ? -2 : made;
}

PyObject* represent(PyObject* object) {
  PyObject* method = PyMethod_New(self_of(object)->function, self_of(object)->instance);
  if (method == nullptr) return nullptr;
  PyObject* text = PyObject_Repr(method);
  Py_DECREF(method);
  return text;
}

/// As methods are: the attribute of the instance with the name of the function.
PyObject* reduce(PyObject* object, PyObject*) {
  PyObject* name = PyObject_GetAttrString(self_of(object)->function, "__name__");
  if (name == nullptr) return nullptr;
  PyObject* get = PyDict_GetItemString(PyEval_GetBuiltins(), "getattr");
  PyObject* made = Py_BuildValue("O(ON)", get, self_of(object)->instance, name);
  return made;
}

PyObject* class_of(PyObject*, void*) {
  Py_INCREF(&PyMethod_Type);
  return reinterpret_cast<PyObject*>(&PyMethod_Type);
}

PyMethodDef kMethods[] = {
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef kMembers[] = {
    {"__self__", T_OBJECT, offsetof(BoundJit, instance), READONLY, nullptr},
    {"__func__", T_OBJECT, offsetof(BoundJit, function), READONLY, nullptr},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(BoundJit, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(BoundJit, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyGetSetDef kProperties[] = {
    {"__class__", class_of, nullptr, "isinstance(f, types.MethodType) holds", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot kSlots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_getattro, reinterpret_cast<void*>(get_attribute)},
    {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
    {Py_tp_hash, reinterpret_cast<void*>(hash)},
    {Py_tp_repr, reinterpret_cast<void*>(represent)},
    {Py_tp_methods, kMethods},
    {Py_tp_members, kMembers},
    {Py_tp_getset, kProperties},
    {0, nullptr},
};

PyType_Spec kSpec = {
    "tokamak._native.BoundJit",
    sizeof(BoundJit),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    kSlots,
};

}  // namespace

bool is_bound_jit(PyObject* object) { return Py_TYPE(object) == bound_type; }

PyObject* make_bound_jit(PyObject* function, PyObject* instance) {
  BoundJit* self = self_of(bound_type->tp_alloc(bound_type, 0));
  if (self == nullptr) return nullptr;
  self->vectorcall = call;
  Py_INCREF(function);
  self->function = function;
  Py_INCREF(instance);
  self->instance = instance;
  self->weak_references = nullptr;
  return reinterpret_cast<PyObject*>(self);
}

bool bind_bound_jit(nanobind::module_& module) {
  bound_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&kSpec));
  if (bound_type == nullptr) return false;
  Py_INCREF(bound_type);
  return PyModule_AddObject(module.ptr(), "BoundJit", reinterpret_cast<PyObject*>(bound_type)) == 0;
}

}  // namespace tokamak::python
