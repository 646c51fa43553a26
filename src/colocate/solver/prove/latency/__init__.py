"""Lower bounds on the worst ratio of latency to target, with proofs."""
