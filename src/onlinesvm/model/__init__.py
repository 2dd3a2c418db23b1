"""Model files and exports."""
