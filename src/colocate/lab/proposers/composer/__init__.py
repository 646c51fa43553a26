"""The proposer that needs no language model, and the code that turns kernels into plain Python.

README.md in this folder states the rules that the solver's blocks must follow for this.
"""
