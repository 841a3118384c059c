#pragma once

#include <cstdint>
#include <string>

namespace tokamak {

/// An amount of memory as people read it: "64 B", "1.5 KB", "192 MB", three digits at the most behind those
/// that matter; units of 1000, as rates have them. The same as bytes_text of Python's _format.
std::string bytes_text(int64_t bytes);

}  // namespace tokamak
