"""Places models by the latency of their requests: the law rates every GPU that a move changes."""
