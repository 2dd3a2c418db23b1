"""Explanations of kernel machines: exact Shapley values."""
