"""Cuts out what a model thinks aloud before it answers."""

import re

_NAMES = "think|thinking|thought|thoughts|reasoning"
_TAG = re.compile(
    rf"^[ \t]*(?P<open>[<\[◁](?:{_NAMES})[>\]▷])|(?P<close>[<\[◁]/(?:{_NAMES})[>\]▷])",
    re.IGNORECASE | re.MULTILINE,
)
"""A tag opens at the beginning of a line, so that one in a sentence or in code is left alone."""


def without_thinking(text: str) -> str:
    """Return an answer without its thinking.

    Blocks may be nested. The first one may lack its beginning, since some chat templates write
    that into the prompt. A block without an end takes the rest, unless an inner block has ended:
    then the thinking mentioned a tag, and ends where the last block does.
    """
    kept: list[str] = []
    begin = depth = last_end = 0
    for tag in _TAG.finditer(text):
        if tag["open"]:
            if depth == 0:
                kept.append(text[begin : tag.start()])
                last_end = 0
            depth += 1
        elif depth:
            depth -= 1
            begin = last_end = tag.end()
        elif not kept:
            begin = tag.end()
            kept.append("")
    if depth == 0:
        kept.append(text[begin:])
    elif last_end:
        kept.append(text[last_end:])
    return "".join(kept).strip() if kept[1:] or depth else text
