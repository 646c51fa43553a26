"""The law of sharing a GPU: steps, prefills, busy chances, and what users wait for."""
