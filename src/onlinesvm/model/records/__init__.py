"""The learning state of each algorithm as named values, and back again, checked."""
