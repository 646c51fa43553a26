"""Predicted latencies as tables, sentences and data."""
