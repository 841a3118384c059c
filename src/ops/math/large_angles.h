#pragma once

// Functions of angles however large. The C library's are off by thousands of ULP where a large angle is next
// to a multiple of pi/2. Vectors have small angles beside large ones, whose results nobody takes: they may be
// any angles.

namespace tokamak::math {

double large_sin(double x);
double large_cos(double x);
double large_tan(double x);

}  // namespace tokamak::math
