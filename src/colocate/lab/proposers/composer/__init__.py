"""The proposer that needs no language model, and what turns kernels into plain Python for it.

README.md in this folder states what they demand of the solver's blocks.
"""
