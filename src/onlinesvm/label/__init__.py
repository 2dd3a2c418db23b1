"""Labelling by hand: a page that asks about the items worth asking about. See ``onlinesvm label``."""
