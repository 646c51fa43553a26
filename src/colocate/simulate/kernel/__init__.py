"""The clock, the engines and the ways to share a GPU, as machine code."""
