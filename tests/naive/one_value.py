"""Streams of values and of novelty without limits, one example at a time: slow twins."""

from .bounded import MOST
from .bounded_tasks import NaiveNovelty, NaiveValues


class StreamOfValues(NaiveValues):
    """An example inside the tube is turned away, unless the stream begins; nobody leaves."""

    begins = False

    def learn(self, k):
        """Returns the decision value before the example was learned."""
        score = self.y[k] - self.gradient(k) + self.bias
        joins = self.begins or not self.S or self.slack(k) > 0
        if joins:
            self.grad[k] = self.gradient(k)
            self.S.append(k)
            self.alpha[k], self.bound[k], self.born[k] = 0.0, self.C, k
            self.process(k)
        if joins or self.gap() > self.tau:
            self.reprocess(MOST)
        return score


class StreamOfNovelty(NaiveNovelty):
    """Every example joins with its mass."""

    def learn(self, k):
        """Returns the decision value before the example was learned."""
        score = self.bias - self.gradient(k)
        self.grad[k] = self.gradient(k)
        self.S.append(k)
        self.alpha[k], self.bound[k], self.born[k] = 0.0, self.weight[k], k
        self.become(k, self.nu * self.weight[k])
        self.reprocess(MOST)
        return score
