"""The independent checker of steps and of bounds within a budget: no code of what it checks."""
