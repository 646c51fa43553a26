"""Metrics that engines count and Prometheus keeps: their names, and what they add up to."""
