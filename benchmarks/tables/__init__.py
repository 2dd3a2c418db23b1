"""Tables: machines that set themselves next to boosted trees. ``python -m benchmarks.tables``."""
