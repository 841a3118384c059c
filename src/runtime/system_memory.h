#pragma once

// Blocks as the system gives them, and what is said when it does not.

#include <cstdint>
#include <string>

namespace tokamak {

/// `capacity` bytes, or nullptr. From 2 MB up: mapped on its own at a 2 MB boundary, advised to use huge
/// pages for an array of `bytes`. Below: 64-byte aligned, from malloc.
void* system_allocate(int64_t capacity, int64_t bytes);
void system_free(void* data, int64_t capacity);

/// Whether the machine has that much left. Small blocks are not checked: the answer costs some 50
/// microseconds.
bool memory_is_available(int64_t capacity);

/// "out of memory: cannot allocate 1.65 TB (1649267441664 bytes); 20.1 GB of 23.4 GB are available"
std::string out_of_memory_message(int64_t bytes, int64_t in_use);

}  // namespace tokamak
