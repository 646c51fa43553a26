"""Streams of requests: drawn from the rates of a fleet, or recorded."""
