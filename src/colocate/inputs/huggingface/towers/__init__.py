"""The parts of a model that see or hear, and the way from them into the language model."""
