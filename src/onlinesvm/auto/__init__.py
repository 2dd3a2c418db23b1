"""A kernel machine for a table, without settings: see ``onlinesvm.AutoSVMClassifier``."""
