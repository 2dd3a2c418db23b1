"""The tables and figures of the papers, one module for each paper."""
