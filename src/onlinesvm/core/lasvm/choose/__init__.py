"""LASVM that chooses its examples: criteria, selection from a data set, pools."""
