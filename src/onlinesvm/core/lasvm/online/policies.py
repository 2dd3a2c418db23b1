"""Which row is removed when a budget is full: names of the rules of ``memory``, in order.

OUTLIER: three times of four the row that is farthest on the wrong side, else the oldest. JOIN: the one
whose coefficient can be moved to its neighbour at the least cost.
"""

POLICIES = ("outlier", "oldest", "join")
OUTLIER, OLDEST, JOIN = range(3)
