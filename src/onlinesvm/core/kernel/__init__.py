"""Kernels, the rows they work on, and the memory of their values."""
