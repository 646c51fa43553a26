"""The checker of latencies and of proofs about them."""
