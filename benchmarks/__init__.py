"""Side-by-side comparison with other SVMs: ``python -m benchmarks.run --help``."""
