"""Every block of the solver keeps the rules of the composer, and a fault is told with a remedy."""

import ast
import inspect
from importlib import import_module
from pathlib import Path
from textwrap import dedent

import pytest

from colocate.lab.proposers.composer.grammar import CHOICES
from colocate.lab.proposers.composer.source import write_program
from colocate.problem.instance import Instance
from colocate.solver.strategy import Strategy
from tests.lab.block_rules import README, RULES, Inspection
from tests.lab.compositions import RICH, SIMPLE

ROOT = Path(__file__).parents[2]


def source_of(module):
    loaded = import_module(module)
    return str(Path(loaded.__file__).relative_to(ROOT)), inspect.getsource(loaded)


def inspected(sources, *names):
    """Look at definitions of made-up modules."""
    texts = {f"colocate.{name}": dedent(text) for name, text in sources.items()}
    inspection = Inspection(lambda module: (f"{module}.py", texts[module]))
    for name in names or ("block",):
        inspection.look_at("colocate.here", name)
    return [str(each) for each in inspection.broken]


def test_every_block_keeps_the_rules():
    inspection = Inspection(source_of)
    for block in (*CHOICES, Instance, Strategy):
        inspection.look_at(block.__module__, block.__name__)
    assert len(inspection.definitions) > 100
    assert not inspection.broken, "\n" + "\n".join(map(str, inspection.broken))


def test_the_page_states_every_rule():
    page = " ".join((ROOT / README).read_text(encoding="utf-8").split())
    for number, rule in RULES.items():
        assert f"{number}. **{rule[0].upper()}{rule[1:]}.**" in page
    assert README in (ROOT / "docs" / "developing.md").read_text(encoding="utf-8")


FAULTY = {
    "two definitions of a name": (
        "from colocate.there import other\ndef lowest():\n    pass\n"
        "def block():\n    lowest()\n    other()\n",
        "colocate.there.py:1: found a second 'lowest', the first is in colocate.here, but a "
        "program has room for one definition of a name (rule 1 of",
        "rename one of the two",
    ),
    "another name for an import": (
        "from colocate.there import lowest as least\ndef block():\n    least()\n",
        "colocate.here.py:1: found `from colocate.there import lowest as least`, but product code "
        "is imported as `from colocate.room.module import name` (rule 2 of",
        "import the name itself, without `as`",
    ),
    "a whole module imported": (
        "import colocate.there\ndef block():\n    colocate.there.lowest()\n",
        "colocate.here.py:1: found `import colocate.there`, but product code",
        "import the name itself",
    ),
    "a constant with an annotation": (
        "LIMIT: int = 3\ndef block():\n    return LIMIT\n",
        "colocate.here.py:1: found 'LIMIT' bound in another way, but a module defines names by",
        "define LIMIT by itself, as `LIMIT = ...`, without an annotation",
    ),
    "two constants at once": (
        "LOW, HIGH = 1, 2\ndef block():\n    return HIGH\n",
        "colocate.here.py:1: found 'HIGH' bound in another way",
        "define HIGH by itself",
    ),
    "another package": (
        "from math import floor\ndef block(x):\n    return floor(x)\n",
        "colocate.here.py:3: found 'floor' of 'math', but a block names only its module, the "
        "product, built-ins and what every program imports (rule 4 of",
        "let `IMPORTS` in source.py import it for every program",
    ),
    "a name from nowhere": (
        "def block():\n    return nothing_like_it\n",
        "colocate.here.py:2: found 'nothing_like_it', which nothing defines",
        "define it in the module",
    ),
    "numpy that no rule knows": (
        "import numpy as np\ndef block(a):\n    x = 1\n    return np.cumsum(a)\n",
        "colocate.here.py:4: found `np.cumsum`, but numpy is spelt as one of the rules in "
        "plain_python.py spells it (rule 5 of",
        "add a rule for `np.cumsum` to RULES there",
    ),
    "windows under another name": (
        "def block(a):\n    for t in range(a.shape[1]):\n        print(a[0, t])\n",
        "colocate.here.py:2: found `a.shape`, but an array with a column for each time window is "
        "called `load` (rule 6 of",
        "use `A.shape[0]`, `load.shape[1]`",
    ),
    "a window that is more than an index of load": (
        "def block(load):\n    for t in range(load.shape[1]):\n        print(load[0, t], t)\n",
        "colocate.here.py:3: found 't' where its loop over windows is gone",
        "use it only as the second index of `load`",
    ),
    "another decorator": (
        "from functools import cache\n@cache\ndef block():\n    pass\n",
        "colocate.here.py:2: found @cache, but a function is decorated by nothing or as a kernel",
        "take it away or use one of entry_kernel, kernel, kernel_section, leaf_kernel",
    ),
    "a method of arrays alone": (
        "def block(a):\n    return a.argmin()\n",
        "colocate.here.py:2: found `.argmin` of an array, but arrays have no methods",
        "write a loop, or add a rule",
    ),
    "arithmetic on arrays": (
        "def block(a: Floats, b: Floats):\n    return a + 2 * b\n",
        "colocate.here.py:2: found `2 * b` on the whole of 'b', but arithmetic is done on elements",
        "write a loop over its elements",
    ),
    "a slice that is written into": (
        "def block(a):\n    part = a[1:3]\n    part[0] = 1\n",
        "colocate.here.py:3: found `part[0] = ...`, a slice, but a slice is a copy",
        "write into the array itself",
    ),
}
THERE = "def lowest():\n    pass\n\n\ndef other():\n    lowest()\n"


@pytest.mark.parametrize(("text", "beginning", "remedy"), FAULTY.values(), ids=FAULTY)
def test_a_fault_is_told_with_file_line_rule_and_remedy(text, beginning, remedy):
    told = inspected({"here": text, "there": THERE})
    assert any(each.startswith(beginning) and remedy in each for each in told), told


def test_every_rule_has_a_faulty_source():
    told = "\n".join(
        sentence
        for text, *_ in FAULTY.values()
        for sentence in inspected({"here": text, "there": THERE})
    )
    assert all(f"(rule {number} of {README})" in told for number in RULES)


def test_a_sound_block_has_no_fault():
    text = """
        from enum import IntEnum
        import numpy as np
        from colocate.there import lowest

        STEPS = 3

        @kernel
        def block(load: Floats, gpu: int) -> float:
            most: float = 0.0
            for window in range(load.shape[1]):
                most = max(most, load[gpu, window])
            found = np.full(STEPS, np.inf)
            lowest()
            return most if np.isinf(found[0]) else found[1]
    """
    assert inspected({"here": text, "there": THERE}) == []


@pytest.mark.parametrize("composition", [SIMPLE, RICH])
def test_what_is_inspected_is_what_programs_hold(composition):
    inspection = Inspection(source_of)
    for block in (*CHOICES, Instance, Strategy):
        inspection.look_at(block.__module__, block.__name__)
    tree = ast.parse(write_program(composition))
    made = {part.name for part in tree.body if isinstance(part, ast.FunctionDef | ast.ClassDef)}
    assert len(made) > 10
    assert made - {"compute_model_placement"} <= {name for _, name in inspection.definitions}
