"""LASVM on parts of a data set: support sets merged, one SVM per cell."""
