"""Models for users of other libraries, around the estimators."""
