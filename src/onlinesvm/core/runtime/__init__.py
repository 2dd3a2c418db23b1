"""Infrastructure of compiled code: compilation, numerics, threads, interrupts, pickles."""
