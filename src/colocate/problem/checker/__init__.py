"""The independent checker of bounds: exact arithmetic, no code of the solver."""
