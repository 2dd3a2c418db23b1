"""More than one machine, more than memory: the classifiers of ``onlinesvm.dask``."""
