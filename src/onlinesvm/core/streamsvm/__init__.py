"""StreamSVM: minimum enclosing balls of a stream."""
