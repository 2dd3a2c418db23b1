"""Active learning: queries to a pool, and labelling curves."""
