"""Servers that inputs are read from: where they are, and how Prometheus is asked."""
