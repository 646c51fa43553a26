"""Evaluators for other people's frameworks: what each needs to let our referee judge its programs.

One module a framework holds its files as text. They call the public interface alone.
"""
