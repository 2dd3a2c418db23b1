"""Drift detection and calibration from scores of examples before they were learned."""
