"""Learning from files and streams; see ``readers`` and ``learning``."""
