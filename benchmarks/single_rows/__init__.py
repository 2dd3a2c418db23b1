"""What the examples of a stream cost, one by one and in blocks."""
