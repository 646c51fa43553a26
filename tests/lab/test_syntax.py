import ast
import time
import warnings

import pytest

from colocate.lab.patches.refusal import PatchRefused
from colocate.lab.patches.syntax import defines_entry, same_program, syntax_key
from tests.arena.tiny_contest import slow_to_compile


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = 1", "x = 1  # one\n\n"),
        ("x = (1)", "x = 1"),
        ("def f():\n    'Old words.'\n    return 1", "def f():\n    return 1"),
        ("'Old.'\nx = 1", "'New.'\nx = 1"),
        ("class A:\n    'Old.'\n    x = 1", "class A:\n    'New.'\n    x = 1"),
        ("def f():\n    x = 1\n    'a remark'\n    return x", "def f():\n    x = 1\n    return x"),
        ("x = u'a'", "x = 'a'"),
        ("x = 'a'  # type: ignore", "x = 'a'"),
    ],
)
def test_words_for_readers_make_no_other_program(one, other):
    assert same_program(one, other)
    assert len(syntax_key(one)) == 64


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = 1", "x = 2"),
        ("x = 1", "x = True"),
        ("x = 1", "x = 1.0"),
        ("x = 'a'", "x = b'a'"),
        ("x = None", "x = 'None'"),
        ("x = -1", "x = 1"),
        ("f(a, b)", "f((a, b))"),
        ("a\nb", "a.b"),
        ("if a:\n    b\n    c", "if a:\n    b\nc"),
        ("def f(x='doc'): 'doc'", "def f(x='dog'): 'doc'"),
        ("x = 'words'", "x = 'other words'"),
    ],
)
def test_what_python_sees_makes_another_program(one, other):
    assert not same_program(one, other)


DRAWS = [
    "import random\nrandom.seed(3)",
    "import random as r\nr.seed(3)",
    "from random import seed as start\nstart(3)",
    "import random\nx = random.Random(3).random()",
    "import random\nrng = random.Random(5)\nrng.seed(3)",
    "import numpy as np\nrng = np.random.default_rng(3)",
    "import numpy as np\nrng = np.random.default_rng(seed=3)",
    "import numpy as np\nrng = np.random.Generator(np.random.PCG64(-3))",
    "import numpy as np\nrng = np.random.default_rng([3, n])",
    "from numpy import random\nrandom.seed(3)",
    "from numpy.random import default_rng\nrngs = [default_rng(3 + n) for n in range(9)]",
    "import random\nSEED = 3\nrandom.seed(SEED)",
    "import random\nSEED: int = 3\nrandom.seed(SEED + len(models))",
    "import random\ndef f(models, seed=3):\n    rng = random.Random(seed)\nf(1)",
    "import random\ndef f(models, *, seed):\n    rng = random.Random(seed)\nf(1, seed=3)",
    "import random\nrandom.seed('a3')",
]


@pytest.mark.parametrize("source", DRAWS)
def test_another_seed_makes_no_other_program(source):
    assert same_program(source, source.replace("3", "4"))
    assert not same_program(source, f"{source}\nx = 3")


@pytest.mark.parametrize(
    "source",
    [
        "def seed(models, count): pass\nseed(models, 3)",
        "import random\nSEED = 3\nrandom.seed(SEED)\nx = SEED + 1",
        "import random\nfor n in range(3):\n    random.seed(n)",
        "import random\nx = random.randint(0, 3)",
        "import numpy as np\nx = np.random.default_rng(1).random(3)",
        "import random\nstarts = 3\nfor n in range(starts):\n    random.seed(n)",
        "rng = make(3)\nrng.seed(3)",
        "import mine\nmine.random.seed(3)",
        "x." + "y." * 2000 + "seed(3)",
    ],
)
def test_what_is_no_seed_makes_another_program(source):
    assert not same_program(source, source.replace("3", "4"))


def test_trees_that_ast_dump_cannot_write():
    long_sum = "x = " + " + ".join(["a"] * 2000)
    with pytest.raises(RecursionError):
        ast.dump(ast.parse(long_sum))
    assert not same_program(long_sum, long_sum + " + a")
    huge = "x = 0x" + "f" * 5000
    assert same_program(huge, huge)
    assert not same_program(huge, huge + "f")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = 1\nx = (", "'(' was never closed at its line 2, 'x = ('"),
        ("return 1", "'return' outside function at its line 1, 'return 1'"),
        ("x = 1\0", "null bytes"),
        ("x = '\ud800'", "surrogates not allowed"),
        ("x = " + "-" * 100_000 + "1", "it is nested too deeply"),
        ("x = " + "+".join(["1"] * 100_000), "it is nested too deeply"),
        ("x = " + "1" * 5000, "Exceeds the limit"),
    ],
)
def test_what_does_not_compile_is_refused_with_the_line(source, message):
    with pytest.raises(PatchRefused) as refusal:
        syntax_key(source)
    assert str(refusal.value).startswith("the program does not compile: ")
    assert message in str(refusal.value)


def ways_out(many, deep):
    """Return a function with ways out of blocks within blocks; each writes every end again."""
    blocks = (
        f"{' ' * n}try:\n{f'{chr(32) * (n + 1)}if a: return 1{chr(10)}' * many}{' ' * n}finally:\n"
        for n in range(1, deep + 1)
    )
    return f"def f():\n{''.join(blocks)}{' ' * (deep + 1)}a\n"


@pytest.mark.parametrize(
    "source",
    [slow_to_compile(22), ways_out(9, 9), ways_out(1, 40), ways_out(40, 5), ways_out(150, 3)],
)
def test_a_program_whose_ends_multiply_is_refused_before_python_writes_them(source):
    started = time.monotonic()
    with pytest.raises(PatchRefused, match="its `finally` blocks are nested too deeply"):
        syntax_key(source)
    assert time.monotonic() - started < 0.5


def test_a_pattern_that_binds_thousands_of_names_is_refused_before_python_writes_it():
    names = ", ".join(f"a{n}" for n in range(50_000))
    started = time.monotonic()
    with pytest.raises(PatchRefused, match="one of its patterns binds too many names"):
        syntax_key(f"match a:\n  case [*rest, {names}]: pass")
    assert time.monotonic() - started < 5
    assert len(syntax_key(f"match a:\n  case [{names[:5000]}]: pass")) == 64


@pytest.mark.parametrize("source", [slow_to_compile(7), ways_out(2, 4), slow_to_compile(3) * 90])
def test_usual_ends_of_blocks_are_no_fault(source):
    assert len(syntax_key(source)) == 64


def test_a_program_of_bad_taste_compiles_in_silence():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert syntax_key("x = '\\d'\ny = x is 'a'")
        assert not defines_entry("x = '\\d'")


@pytest.mark.parametrize(
    ("source", "defined"),
    [
        ("def compute_model_placement(gpu_num, models): pass", True),
        ("compute_model_placement = place", True),
        ("from other import compute_model_placement", True),
        ("if fast:\n    def compute_model_placement(gpu_num, models): pass", True),
        ("def f():\n    def compute_model_placement(gpu_num, models): pass", False),
        ("compute_model_placement(3, [])", False),
        ("x = 'def compute_model_placement'", False),
    ],
)
def test_the_entry_is_defined_at_top_level(source, defined):
    assert defines_entry(source) is defined
