"""Estimators in scikit-learn's manner, one file for each family of algorithms."""
