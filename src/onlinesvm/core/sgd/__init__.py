"""NORMA, Pegaz, OL SVM and the kernel perceptrons."""
