"""LASVM, many examples at a time: block steps, working sets, SMO, second looks."""
