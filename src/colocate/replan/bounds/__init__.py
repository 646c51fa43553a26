"""Proofs of what no placement within a budget of moved bytes reaches."""
