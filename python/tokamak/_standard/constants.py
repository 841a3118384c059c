"""The standard's data types and constants. float16 is not in the standard, and complex numbers are not here."""

from __future__ import annotations

import math

import numpy as np

bool = np.dtype(np.bool_)
int8 = np.dtype(np.int8)
int16 = np.dtype(np.int16)
int32 = np.dtype(np.int32)
int64 = np.dtype(np.int64)
uint8 = np.dtype(np.uint8)
uint16 = np.dtype(np.uint16)
uint32 = np.dtype(np.uint32)
uint64 = np.dtype(np.uint64)
float16 = np.dtype(np.float16)
float32 = np.dtype(np.float32)
float64 = np.dtype(np.float64)

e = math.e
inf = math.inf
nan = math.nan
newaxis = None
pi = math.pi
