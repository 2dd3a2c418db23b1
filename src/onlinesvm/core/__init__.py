"""The compiled heart: kernels tiles, support set, solvers. Imports nothing above it."""
