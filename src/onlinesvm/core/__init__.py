"""The compiled core: kernel tiles, support set, solvers. Imports nothing above it."""
