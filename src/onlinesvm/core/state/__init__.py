"""Models as they are published to other threads and written to pickles."""
