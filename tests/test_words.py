"""One word for one thing: no two classes share a name."""

import ast
from collections import defaultdict
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src" / "colocate"
OUTSIDE = {"arena/inside/answer.py": {"Model"}}
"""What programs from outside are given is called as they know it."""


def test_no_class_name_stands_twice():
    found = defaultdict(list)
    for path in sorted(SOURCES.rglob("*.py")):
        place = path.relative_to(SOURCES).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and node.name not in OUTSIDE.get(place, ()):
                found[node.name].append(place)
    twice = {name: places for name, places in found.items() if len(places) > 1}
    assert not twice, "a class has the name of another one; choose another word"
