"""The engines of a plan: what each one loads, where it runs and how much memory it gets."""
