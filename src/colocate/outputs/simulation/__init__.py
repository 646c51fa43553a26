"""Simulations as tables, sentences, data and pages."""
