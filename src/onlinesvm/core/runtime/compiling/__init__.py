"""What surrounds compilation: where compiled loops are kept, and a line for those who wait."""
