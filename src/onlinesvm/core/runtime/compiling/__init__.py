"""Support for compilation: storage of compiled loops, and a message while loops compile."""
