"""Decisions that a problem leaves open: which models sleep, and how many replicas others have."""
