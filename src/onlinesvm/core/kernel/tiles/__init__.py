"""Dot products and kernel functions while values are in cache: tiles, one row, differences."""
