#include "block_owner.h"

namespace tokamak::python {
namespace {

struct BlockOwner {
  PyObject ob_base;
  void* share;
};

void dealloc(PyObject* self) {
  { Block last = Block::adopt(reinterpret_cast<BlockOwner*>(self)->share); }
  PyObject_Free(self);
}

// A static type rather than a heap type: its instances need no reference to it, and it is not the user's to
// change.
PyTypeObject block_owner_type = {
    PyVarObject_HEAD_INIT(nullptr, 0)  // NOLINT
};

}  // namespace

bool prepare_block_owner() {
  block_owner_type.tp_name = "tokamak._native.Block";
  block_owner_type.tp_basicsize = sizeof(BlockOwner);
  block_owner_type.tp_dealloc = dealloc;
  block_owner_type.tp_flags = Py_TPFLAGS_DEFAULT;
  block_owner_type.tp_doc = "Memory of the pool, given back when the last array over it goes";
  return PyType_Ready(&block_owner_type) == 0;
}

PyObject* make_block_owner(Block block) {
  auto* owner = PyObject_New(BlockOwner, &block_owner_type);
  if (owner == nullptr) return nullptr;
  owner->share = block.release();
  return reinterpret_cast<PyObject*>(owner);
}

}  // namespace tokamak::python
