"""The program that evolution starts from if the user names none."""

from importlib import resources


def start_program() -> str:
    """Return the text of a short hand-written program that scores 21.8916 on the public suite."""
    return (resources.files(__name__) / "greedy_by_load.py").read_text(encoding="utf-8")
