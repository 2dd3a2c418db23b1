"""What everything compiled stands on: compilation, numerics, threads, interrupts, pickles."""
