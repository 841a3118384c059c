#include "location.h"

#include "numpy_api.h"

#include <frameobject.h>  // PyFrame_GetBack, before Python 3.11

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tokamak::python {
namespace {

// Written once, when the package is imported. Never destroyed: errors may be made while the process ends.
std::vector<std::string>& library_folders() {
  static auto* folders = new std::vector<std::string>();
  return *folders;
}

/// As UTF-8. What is no character, as in names of files in another encoding, is written as an escape: `made`
/// is where that text then is.
std::string_view text_of(PyObject* string, std::string& made) {
  Py_ssize_t size = 0;
  if (const char* text = PyUnicode_AsUTF8AndSize(string, &size)) return {text, static_cast<size_t>(size)};
  PyErr_Clear();
  PyObject* bytes = PyUnicode_AsEncodedString(string, "utf-8", "backslashreplace");
  if (bytes == nullptr) {
    PyErr_Clear();
    return {};
  }
  made.assign(PyBytes_AS_STRING(bytes), static_cast<size_t>(PyBytes_GET_SIZE(bytes)));
  Py_DECREF(bytes);
  return made;
}

bool is_library(std::string_view file) {
  return std::ranges::any_of(library_folders(),
                             [&](const std::string& folder) { return file.starts_with(folder); });
}

/// The line that a frame is at. Python goes through the lines of its code from the first on; those of loops
/// and long functions are asked for again and again.
int line_of(PyFrameObject* frame, PyCodeObject* code) {
#if PY_VERSION_HEX < 0x030B0000
  return PyFrame_GetLineNumber(frame);
#else
  struct Known {
    PyCodeObject* code = nullptr;  // which it holds, so that no other has its address
    int instruction = 0;
    int line = 0;
  };
  static std::array<Known, 256> all;
  const int instruction = PyFrame_GetLasti(frame);
  if (instruction < 0) return PyFrame_GetLineNumber(frame);
  const size_t place =
      (reinterpret_cast<uintptr_t>(code) / 64 + static_cast<size_t>(instruction) / 2) % all.size();
  Known& known = all[place];
  if (known.code != code || known.instruction != instruction) {
    Py_INCREF(code);
    PyCodeObject* const before = known.code;
    known = {code, instruction, PyFrame_GetLineNumber(frame)};
    Py_XDECREF(before);
  }
  return known.line;
#endif
}

SourceLocation location_of(PyFrameObject* frame, PyCodeObject* code) {
  SourceLocation where;
  std::string made;
  where.file = text_of(code->co_filename, made);
  where.line = static_cast<uint32_t>(line_of(frame, code));
  where.function = text_of(code->co_name, made);
  return where;
}

SourceLocation search_frames() {
  PyFrameObject* frame = PyEval_GetFrame();
  Py_XINCREF(frame);
  SourceLocation where;
  std::string made;
  while (frame != nullptr) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    const bool users = !is_library(text_of(code->co_filename, made));
    if (users) where = location_of(frame, code);
    Py_DECREF(code);
    PyFrameObject* back = users ? nullptr : PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  return where;
}

}  // namespace

void set_library_folders(std::vector<std::string> folders) { library_folders() = std::move(folders); }

SourceLocation user_python_line() {
  if (!Py_IsInitialized() || PyGILState_GetThisThreadState() == nullptr) return {};
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  SourceLocation where = search_frames();
  PyErr_Restore(type, value, traceback);
  PyGILState_Release(state);
  return where;
}

}  // namespace tokamak::python
