#pragma once

// Functions of angles of at least 1, however large. The C library's are off by thousands of ULP where an
// angle is next to a multiple of pi/2.

namespace tokamak::math {

double large_sin(double x);
double large_cos(double x);
double large_tan(double x);

}  // namespace tokamak::math
