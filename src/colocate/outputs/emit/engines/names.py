"""Names that every target takes: unique labels by RFC 1035, made from any text."""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping
from hashlib import sha256

LONGEST = 40
"""Of a name; labels may have 63 letters, the rest is for numbers and digests."""
DIGEST = 8
"""Letters of a digest: 32 bits, and more where two names still come to the same."""
TAKEN = frozenset({"kubernetes", "frontend", "mps", "nvidia-mps"})
"""By a service that every cluster has, by the router of kvcached, and by the daemon of MPS."""


def safe_names(texts: Iterable[str]) -> dict[str, str]:
    """Return a name for each text.

    It has only lower case letters, digits and hyphens, begins with a letter and is that of no
    other text. A text that is such a name already keeps it; one of which something was cut or
    lost, or that would come to the name of another, gets a digest of itself at its end.
    """
    bare = {text: _bare(text) for text in texts}
    count = Counter(bare.values())
    names = {text: name for text, name in bare.items() if text == name not in TAKEN}
    taken = {*names, *TAKEN}
    for text, name in bare.items():
        if text not in names:
            told = count[name] == 1 and text.isascii() and len(text) <= LONGEST
            told = told and name not in taken
            names[text] = name if told else _marked(text, name, taken)
            taken.add(names[text])
    return {text: names[text] for text in bare}


def replica_names(
    names: Mapping[str, str], replicas: Mapping[str, int]
) -> dict[tuple[str, int], str]:
    """Return a unique name for each replica of each model: `name`, `name-2` and so on."""
    taken = {*names.values(), *TAKEN}
    found = {(model, 0): names[model] for model in replicas}
    for model, count in replicas.items():
        for replica in range(1, count):
            name = f"{names[model]}-{replica + 1}"
            while name in taken:
                name = f"{names[model]}-replica-{name.removeprefix(names[model]).lstrip('-')}"
            taken.add(name)
            found[model, replica] = name
    return found


def front_names(names: Mapping[str, str], taken: Collection[str]) -> dict[str, str]:
    """Return a name for all replicas of each model together: `name-all`, which no engine has."""
    known = {*names.values(), *taken, *TAKEN}
    found = {}
    for model, name in names.items():
        front = f"{name}-all"
        while front in known:
            front += "-replicas"
        known.add(front)
        found[model] = front
    return found


def _bare(text: str) -> str:
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    name = re.sub(r"[^a-z0-9]+", "-", ascii_text.lower()).strip("-")
    if not name or not name[0].isalpha():
        name = f"m-{name}".rstrip("-")
    return name[:LONGEST].rstrip("-")


def _marked(text: str, name: str, taken: Container[str]) -> str:
    digest = sha256(text.encode()).hexdigest()
    lengths = range(DIGEST, len(digest))
    return next(m for n in lengths if (m := f"{name}-{digest[:n]}") not in taken)
