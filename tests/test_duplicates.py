"""No block of six lines stands twice in the source."""

import ast
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
LINES = 6
"""So many lines in a row, blank ones left out, are one block."""


def _lines(path):
    """Return the lines of a file that say something, each with its number; imports say nothing."""
    text = path.read_text()
    imports = {
        number
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for number in range(node.lineno, node.end_lineno + 1)
    }
    numbered = enumerate(text.splitlines(), start=1)
    return [(n, line.strip()) for n, line in numbered if line.strip() and n not in imports]


def _blocks(path):
    """Yield each block of a file with the line at which it begins."""
    lines = _lines(path)
    for first in range(len(lines) - LINES + 1):
        block = lines[first : first + LINES]
        yield tuple(text for _, text in block), block[0][0]


def repeated_blocks(folder):
    """Return the places of each block that stands more than once below a folder."""
    places = defaultdict(list)
    for path in sorted(folder.rglob("*.py")):
        for block, line in _blocks(path):
            places[block].append(f"{path.relative_to(folder)}:{line}")
    return [found for found in places.values() if len(found) > 1]


def test_no_block_of_six_lines_stands_twice():
    repeated = [" and ".join(found) for found in repeated_blocks(SOURCE)]
    assert not repeated, "the same six lines: " + "; ".join(repeated)


def test_a_repeated_block_is_found(tmp_path):
    block = "".join(f"x = {number}\n" for number in range(LINES))
    (tmp_path / "a.py").write_text(f"first = 1\n{block}")
    (tmp_path / "b.py").write_text(f"def other():\n    y = 2\n\n{block.replace('x', '    x')}")
    assert repeated_blocks(tmp_path) == [["a.py:2", "b.py:4"]]
