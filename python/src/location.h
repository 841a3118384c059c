#pragma once

#include <string>
#include <vector>

#include "tokamak/errors.h"

namespace tokamak::python {

/// Folders whose frames are not the user's: this package, NumPy.
void set_library_folders(std::vector<std::string> folders);

/// The innermost Python line that is not in a library folder; unknown when Python is not running on this
/// thread. Takes the GIL if this thread has let go of it.
SourceLocation user_python_line();

}  // namespace tokamak::python
