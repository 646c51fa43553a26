"""What reviews see in code, whatever the task and whatever its author calls things."""

import pytest

from colocate.lab.review.anatomy import anatomy, differ_in_one_block
from colocate.lab.review.block_words import implementation

HEAD = "import math, random, time\nimport numpy as np\nfrom scipy.optimize import minimize\n\n"


def found(body, more="", entry="solve"):
    """The blocks of a program whose entry has this body."""
    lines = "".join(f"    {line}\n" for line in body.strip().split("\n"))
    source = f"{HEAD}{more}\ndef {entry}(items, n):\n{lines}"
    compile(source, "<test>", "exec")
    seen = anatomy(source, entry)
    assert all(each.where for each in seen.mechanisms)
    return sorted(each.block for each in seen.mechanisms)


@pytest.mark.parametrize(
    ("body", "block"),
    [
        ("return sorted(items, key=lambda m: m.size, reverse=True)", "sort(size, descending)"),
        ("return sorted(items, key=lambda m: -m.size)", "sort(size, descending)"),
        ("items.sort(key=lambda e: e['w'] + n * e['s'])", "sort(w + n * s, ascending)"),
        ("items.sort(key=lambda e: (float(e.a), getattr(e, 'b')))", "sort(a then b, ascending)"),
        ("return np.argsort(items)", "sort(value, ascending)"),
        ("return min(range(n), key=lambda g: items[g])", "take the least(items[x])"),
        ("return max(range(n), key=lambda g: -items[g])", "take the least(items[x])"),
        ("return minimize(n, items, method='SLSQP', options={'maxiter': 300})", None),
        ("random.shuffle(items)", "random order"),
        ("rng = np.random.default_rng(7)\nreturn rng.choice(items)", "random choice"),
        ("rng = np.random.default_rng(7)\nreturn rng.choice(items)", "seed(7)"),
        ("return np.random.uniform(0, 1)", "random numbers"),
        ("if random.random() < 0.2:\n    return n", "chance(0.2)"),
        ("if random.random() < math.exp(-n / 3):\n    return n", "annealing"),
        ("if n < items - 1e-6:\n    return n", "tolerance(1e-06)"),
        ("eps = 1e-9\nif n < items - eps:\n    return n", "tolerance(1e-09)"),
        ("return sum(k * k for k in items)", "sum of squares"),
        ("return sum(k ** 2 for k in items)", "sum of squares"),
        ("while time.time() < n:\n    n.step()", "time limit"),
        ("while True:\n    n.step()", "endless loop"),
        ("return solve(items, n - 1)", "recursion"),
        ("items[0], items[n] = items[n], items[0]", "swap"),
    ],
)
def test_a_mechanism_has_a_name_of_its_own(body, block):
    expected = block or "scipy.optimize.minimize(method='SLSQP', maxiter=300)"
    assert expected in found(body)


@pytest.mark.parametrize(
    ("body", "block"),
    [
        ("for _ in range(50):\n    mid = (lo + hi) / 2\n    hi = mid", "bisection(50 times)"),
        ("while lo < hi:\n    m = 0.5 * (lo + hi)\n    lo = m", "bisection"),
        ("while lo < hi:\n    m = (lo + hi) // 2\n    lo = m", "bisection"),
        ("for _ in range(20):\n    random.shuffle(items)", "random rounds(20)"),
        ("restarts = 8\nfor _ in range(restarts):\n    random.shuffle(items)", "restarts(8)"),
        ("for _ in range(30):\n    items.improve()", "rounds(30)"),
        ("while improved:\n    improved = n.step()", "until nothing improves"),
        ("for m in items:\n    items.remove(m)\n    n.append(m)", "move"),
        (
            "for a in n:\n    x.remove(a)\n    y.remove(b)\n    x.append(b)\n    y.append(a)",
            "swap",
        ),
        ("for i in n:\n    a = x[i]\n    b = y[i]\n    x[i] = b\n    y[i] = a", "swap"),
        ("for i in n:\n    items[i] = []\n    random.shuffle(n)", "ruin and recreate"),
        (
            "while n:\n    stalled += 1\n    if stalled > 20:\n        stalled = 0",
            "patience(20)",
        ),
        (
            "for i in n:\n    for j in n:\n        if i + j < best:\n            best = i + j",
            "best of all",
        ),
        (
            "for i in n:\n  for j in n:\n    if i < j:\n      n.swap()\n      break",
            "first improvement",
        ),
    ],
)
def test_a_loop_is_what_it_does(body, block):
    assert block in found(body)


def test_code_without_a_mechanism_has_none():
    assert found("total = 0\nfor item in items:\n    total += item\nreturn total / n") == []


def test_a_key_that_is_a_function_is_what_the_function_returns():
    more = "def load(model):\n    return model.rate / model.slo\n\n"
    key = "sort(rate / slo, ascending)"
    assert key in found("return sorted(items, key=load)", more)
    assert key in found("return sorted(items, key=lambda m: load(m))", more)
    endless = "def load(model):\n    return load(model)\n\n"
    assert "sort(load(x), ascending)" in found(
        "return sorted(items, key=lambda m: load(m))", endless
    )


def test_the_entry_is_that_of_the_task():
    source = "def pack(n):\n    return sorted(n)\n\n\ndef unused(n):\n    return solve(n)\n"
    assert [each.block for each in anatomy(source, "pack").mechanisms] == ["sort(value, ascending)"]
    assert anatomy(source).blocks == frozenset()


def test_what_a_program_does_is_told_function_by_function():
    source = (
        "import random\n\n\ndef relief(x):\n    for _ in range(9):\n        random.shuffle(x)\n"
        "\n\ndef solve(x):\n    relief(x)\n    return sorted(x, key=lambda m: m.r)\n"
    )
    assert implementation(anatomy(source, "solve")) == (
        "`relief` repeats up to `9` times, with random changes and shuffles; `solve` sorts by "
        "`r, ascending`"
    )


def test_a_mechanism_that_differs_alone_makes_a_clean_pair():
    one = "def solve(x):\n    return sorted(x, key=lambda m: m.r)\n"
    other = one.replace("m.r", "m.s")
    assert differ_in_one_block(one, other, "solve")
    beside = other + "\n\ndef spare():\n    return 1\n"
    assert not differ_in_one_block(one + "\n\ndef spare():\n    return 2\n", beside, "solve")


def test_the_mechanisms_of_a_new_function_are_part_of_it():
    one = "def solve(x):\n    return x\n"
    other = (
        "import random\n\n\ndef mix(x):\n    random.shuffle(x)\n    x.sort()\n\n\n"
        + one.replace("return x", "return mix(x)")
    )
    assert differ_in_one_block(one, other, "solve")


@pytest.mark.parametrize(
    "source",
    [
        "def solve(x):\n    return sorted(x, key=lambda m: " + "+".join(["m.a"] * 3000) + ")\n",
        "def solve(x):\n    return sorted(x, key=lambda m: " + "-" * 900 + "m.a)\n",
        "def solve(x):\n    for _ in range(0x" + "f" * 5000 + "):\n        x.sort()\n",
        "def solve(x):\n"
        + "".join(f"{' ' * 4 * d}for i{d} in x:\n" for d in range(1, 19))
        + " " * 80
        + "x.sort()\n",
        "STARTS = (" + "Bisection(" * 60 + ")" * 60 + ",)\ndef solve(x): pass\n",
    ],
)
def test_hostile_code_is_read_in_bounded_time(source):
    seen = anatomy(source, "solve")
    assert all(len(block) < 400 for block in seen.blocks)
    assert len(implementation(seen)) < 2000


PACK = """
def pack(items, bins, key):
    free = [1.0] * bins
    for item in sorted(items, key=key, reverse=True):
        best, room = None, None
        for place in range(bins):
            if free[place] >= item.size:
                TAKE
        free[best] -= item.size


def solve(items, bins):
    for key in (lambda i: i.size + i.load, lambda i: i.load):
        pack(items, bins, key)
"""


@pytest.mark.parametrize(
    ("take", "told"),
    [
        ("best = place; break", "takes the first place that fits"),
        ("held[place].append(item); break", "takes the first place that fits"),
        (
            "left = free[place]\n                if room is None or left < room:\n"
            "                    best, room = place, left",
            "rates all candidates and takes the best",
        ),
    ],
)
def test_how_a_packing_takes_its_place_and_what_it_is_given_to_sort_by(take, told):
    how = implementation(anatomy(PACK.replace("TAKE", take), "solve"))
    assert how == f"`pack` {told} and sorts by `size + load or load, descending`"


def test_a_place_that_a_list_holds_is_named_by_the_list():
    source = "def solve(x, values):\n    return max(range(9), key=values.__getitem__)\n"
    assert (
        implementation(anatomy(source, "solve"))
        == "`solve` takes the one with the highest `values`"
    )
