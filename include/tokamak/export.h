#pragma once

/// Marks what the shared library offers to its users.
#define TOKAMAK_API __attribute__((visibility("default")))
