"""SimpleSVM: the exact active-set engine."""
