"""Demand and latencies that were measured: from traces, Prometheus, and a router."""
