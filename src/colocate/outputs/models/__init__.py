"""The catalogue of models as a person or a program wants to read it."""
