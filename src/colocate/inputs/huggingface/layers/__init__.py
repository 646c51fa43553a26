"""The kinds of layers: what each weighs, and what each keeps of a sequence."""
