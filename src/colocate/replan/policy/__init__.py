"""Whether to move models: pure functions of what was measured, without a clock and a network."""
