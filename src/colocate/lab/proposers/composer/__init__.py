"""The proposer that needs no language model, and what turns kernels into plain Python for it.

A program that it writes carries the sources of the blocks that it is composed of. `definitions`
collects them by name, so no two functions of the solver's blocks may share one. `plain_python`
rewrites them by textual rules, which know how kernels are spelled: arrays are made by `np.empty`,
`np.full` and `np.zeros`, and a rule of an instance is asked by `admits`. `tests/lab` runs every
block in both forms.
"""
