"""Where evolution begins if the user names no program."""

from importlib import resources


def start_program() -> str:
    """Return the text of a short program by hand that scores 21.8916 on the public suite."""
    return (resources.files(__name__) / "greedy_by_load.py").read_text(encoding="utf-8")
