"""From Python functions to machine code, and from the files that keep it back into memory.

Importing numba takes longer than a small plan does. A start that finds all its code in files
therefore loads it without numba's compiler.
"""
