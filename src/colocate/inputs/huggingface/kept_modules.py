"""Which modules a quantisation leaves as they are."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

WILD = ("", "*", "**")
REGEX_MARK = "re:"


@dataclass(frozen=True)
class KeptModules:
    """The modules that a list in a `quantization_config` names.

    Such lists hold names of modules, parts of them, names with a `*`, and regular expressions.
    They are compared word by word and never run as expressions: those of a stranger may take
    forever. An expression with alternatives is not understood and keeps nothing.

    Parameters
    ----------
    exact
        Modules of one layer, as `layers.3.self_attn`; what is inside them is kept too.
    words
        Words that must all be in a name, in this order.
    """

    exact: frozenset[str] = frozenset()
    words: frozenset[tuple[str, ...]] = frozenset()

    @classmethod
    def named(cls, patterns: Iterable[str]) -> "KeptModules":
        """Return the modules that such a list names."""
        exact, words = set(), set()
        for pattern in patterns:
            parts = _parts(pattern)
            if any(part.isdecimal() for part in parts):
                exact.add(".".join(parts))
            elif parts:
                words.add(parts)
        return cls(frozenset(exact), frozenset(words))

    def __contains__(self, name: str) -> bool:
        parts = name.split(".")
        if any(".".join(parts[:length]) in self.exact for length in range(1, len(parts) + 1)):
            return True
        return _any_in(self.words, tuple(part for part in parts if not part.isdecimal()))


def _parts(pattern: str) -> tuple[str, ...]:
    """Return the words of a pattern from `layers` on, without what stands for anything."""
    text = pattern
    if text.startswith(REGEX_MARK):
        text = text.removeprefix(REGEX_MARK).removeprefix("^").removesuffix("$")
        for anything in (r"\d+", "[0-9]+", ".*"):
            text = text.replace(anything, ".*.")
        text = text.replace("\\.", ".")
    parts = tuple(part for part in text.split(".") if part not in WILD)
    return parts[parts.index("layers") :] if "layers" in parts else parts


@lru_cache
def _any_in(patterns: frozenset[tuple[str, ...]], name: tuple[str, ...]) -> bool:
    """Say whether the words of any pattern are in a name; all layers ask the same."""
    return any(_in_order(pattern, name) for pattern in patterns)


def _in_order(words: tuple[str, ...], name: tuple[str, ...]) -> bool:
    rest = iter(name)
    return all(word in rest for word in words)
