"""The law of sharing a GPU: step times, busy chances, TPOT, TTFT, cache in use."""
