"""LASVM one example at a time, with and without limits on its memory."""
