"""The problem and its answer: pure data and arithmetic, with an independent checker."""
