"""Which example next: questions to a pool, and what labels are worth."""
