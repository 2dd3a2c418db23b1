"""What the scores of examples tell that were predicted before they were learned."""
