"""Proposals by language models: the prompt, the choice of the model, and the reply."""
