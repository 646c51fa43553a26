"""Readings of running engines: a probe of their server, or the metrics that they count."""
