"""A replan, its steps, and what two plans differ in: for people and for machines."""
