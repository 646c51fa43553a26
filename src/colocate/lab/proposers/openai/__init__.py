"""Proposals by language models: what they are told, which one is asked, what they reply."""
