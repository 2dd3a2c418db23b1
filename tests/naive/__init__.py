"""Slow, obvious twins of the fast routines, compared with them step by step."""
