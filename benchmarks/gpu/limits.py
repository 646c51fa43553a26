"""What an engine of the harness can hold."""

CAPTURED = (1, 2, 4, 8, 16, 24, 32, 48, 64)
"""Batch sizes that have a CUDA graph; a batch runs in the smallest that holds it."""
SLOTS = 64
"""Most requests at once."""
MOST_CONTEXT = 1024
"""Most tokens of cache that a request reads in a step."""
MOST_PROMPT = 16384
