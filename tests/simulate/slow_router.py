"""Which replica of a model gets a request, in the slow simulator."""

import numpy as np

FACTOR, MODULUS = 48271, 2**31 - 1
"""Of the random numbers by Park and Miller, which both simulators draw."""


class RoundRobin:
    """All replicas in turn."""

    def __init__(self, replicas):
        self.replicas = replicas
        self.asked = 0

    def choose(self):
        self.asked += 1
        return self.replicas[(self.asked - 1) % len(self.replicas)]


class LeastRequests:
    """The one with the fewest requests; the first if several have."""

    def __init__(self, replicas):
        self.replicas = replicas

    def choose(self):
        return min(self.replicas, key=lambda each: each.requests)


class RandomTwo:
    """The one of two random ones that has fewer requests; the first if both are alike."""

    def __init__(self, replicas, seed, model):
        self.replicas = replicas
        self.last = int(np.random.default_rng([seed, model]).integers(1, MODULUS))

    def draw(self, below):
        self.last = self.last * FACTOR % MODULUS
        return self.last % below

    def choose(self):
        count = len(self.replicas)
        if count == 1:
            return self.replicas[0]
        one = self.draw(count)
        others = [*range(one + 1, count), *range(one)]
        other = others[self.draw(count - 1)]
        return min((self.replicas[n] for n in sorted((one, other))), key=lambda each: each.requests)


def router(name, replicas, seed, model):
    """Return a router of the replicas of a model."""
    if name == "random-two":
        return RandomTwo(replicas, seed, model)
    return {"round-robin": RoundRobin, "least-requests": LeastRequests}[name](replicas)
