"""Which row makes way when a budget is full: names of the rules of ``bounded_policy``, in order."""

POLICIES = ("outlier", "oldest", "join")
