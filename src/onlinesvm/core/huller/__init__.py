"""The Huller."""
