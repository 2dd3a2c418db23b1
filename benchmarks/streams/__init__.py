"""Streams that change, predicted and learned one example at a time: ours next to River's models."""
