"""The comparison with other libraries."""
