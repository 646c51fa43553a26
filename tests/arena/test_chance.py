"""Random draws of programs: from the seed that the referee gives, and seen when it is taken."""

import pytest

from colocate.arena.seeds import seed_of
from colocate.arena.walls.sandbox import Limits, Sandbox
from tests.arena.tiny_contest import answered, behind_each_wall, program, question

QUESTION = question().as_data()
LIMITS = Limits(seconds=5, memory_mb=512)

UNSEEDED = {
    "random": "import random; seen = random.random()",
    "shuffle": "from random import shuffle; seen = list(range(99)); shuffle(seen)",
    "Random": "import random; seen = random.Random().random()",
    "seed()": "import random; random.seed(); seen = random.random()",
    "SystemRandom": "import random; seen = random.SystemRandom().random()",
    "secrets": "import secrets; seen = secrets.token_hex(8)",
    "uuid": "import uuid; seen = uuid.uuid4().hex",
    "urandom": "import os; seen = os.urandom(8).hex()",
    "getrandom": "import os; seen = os.getrandom(8).hex()",
    "os of random": "import random; seen = random._os.getrandom(8, 0).hex()",
    "numpy.rand": "import numpy as np; seen = float(np.random.rand())",
    "numpy.from": "from numpy.random import rand; seen = float(rand())",
    "numpy.default_rng": "import numpy as np; seen = float(np.random.default_rng().random())",
    "numpy.RandomState": "import numpy as np; seen = float(np.random.RandomState().rand())",
    "numpy.PCG64": "import numpy as np; seen = np.random.PCG64().random_raw()",
    "numpy.inner": "from numpy.random import _generator as g\n"
    "seen = float(g.default_rng().random())",
}
"""Programs that draw without a seed of their own."""
SEEDED = {
    "seed": "import random; random.seed(42); seen = random.random()",
    "seed of text": "import random; random.seed('forty-two'); seen = random.random()",
    "Random": "import random; seen = random.Random(42).random()",
    "from": "from random import Random; r = Random(7); r.seed(8); seen = r.random()",
    "numpy.seed": "import numpy as np; np.random.seed(42); seen = float(np.random.rand())",
    "numpy.default_rng": "import numpy as np; seen = float(np.random.default_rng(42).random())",
    "numpy.list": "import numpy as np; seen = float(np.random.default_rng([1, 2]).random())",
    "numpy.RandomState": "import numpy as np; seen = float(np.random.RandomState(42).rand())",
    "numpy.reseeded": "import numpy as np; r = np.random.RandomState(1); r.seed(2); "
    "seen = float(r.rand())",
    "numpy.SeedSequence": "import numpy as np\n"
    "seen = np.random.SeedSequence(42).spawn(2)[1].generate_state(1).tolist()",
    "numpy.Generator": "import numpy as np\n"
    "seen = float(np.random.Generator(np.random.PCG64(42)).random())",
    "numpy by parts": "np = __import__('num' + 'py'); np.random.seed(42)\n"
    "seen = float(np.random.rand())",
    "numpy.MT19937": "import numpy as np\n"
    "seen = float(np.random.RandomState(np.random.MT19937(42)).rand())",
}
"""Programs that draw from a constant seed."""
STEADY = {
    "nothing": "seen = 1",
    "import alone": "import random, numpy, numpy.random, uuid, secrets; seen = 1",
    "numpy alone": "import numpy as np; seen = float(np.arange(5).sum())",
    "own arithmetic": "seen = (1103515245 * 42 + 12345) % 2**31",
    "around the names": "import random; seen = random.__dict__['random']()",
    "around numpy's": "import sys, numpy; seen = float(sys.modules['numpy.random.mtrand'].rand())",
}
"""Programs whose draws, if any, do not depend on the seed."""


def seen(body, number=0, case=3, enclosure=None, hash_seed=0):
    """Return what a program saw under a seed, and whether it took that."""
    source = program(body, "{0: [repr(seen)]}")
    with Sandbox(source, LIMITS, enclosure=enclosure, hash_seed=hash_seed) as sandbox:
        reply = sandbox.ask(QUESTION, seed_of(case, number))
    ((_, answer),) = answered(reply)
    return answer, reply.drew


@pytest.mark.parametrize("body", UNSEEDED.values(), ids=UNSEEDED)
def test_a_draw_without_a_seed_depends_on_the_seed_of_the_referee_alone(body):
    first, again, other = seen(body), seen(body), seen(body, number=1)
    assert first == again
    assert first[0] != other[0]
    assert first[0] != seen(body, case=4)[0]
    assert (first[1], other[1]) == (True, True)


@pytest.mark.parametrize("body", SEEDED.values(), ids=SEEDED)
def test_a_constant_seed_draws_as_written_under_the_first_seed_and_otherwise_under_others(body):
    as_written: dict = {}
    exec(body, as_written)
    first, second = seen(body), seen(body, number=2)
    assert first == (repr(as_written["seen"]), True)
    assert second[1]
    assert second == seen(body, number=2)
    assert len({first[0], second[0], seen(body, number=3)[0]}) == 3


@pytest.mark.parametrize("body", STEADY.values(), ids=STEADY)
def test_what_does_not_take_the_seed_cannot_depend_on_it(body):
    first = seen(body)
    assert first == seen(body, number=1) == seen(body, number=2)
    assert not first[1]


def test_two_constants_stay_different_under_other_seeds():
    body = "import random; import numpy as np; random.seed({0}); np.random.seed({0})\n"
    body += "seen = random.random(), float(np.random.rand())"
    assert seen(body.format(1), number=1) != seen(body.format(2), number=1)


def test_generators_keep_their_types_under_other_seeds():
    body = """
import numpy as np, copy
state = np.random.RandomState(1)
generator = np.random.default_rng(np.random.default_rng(1))
seen = (
    isinstance(state, np.random.RandomState), isinstance(generator, np.random.Generator),
    isinstance(np.random.PCG64(1), np.random.BitGenerator), type(np.random.PCG64(1)).__name__,
    copy.deepcopy(state).rand() == state.rand(), np.random.default_rng(generator) is generator,
    np.random.default_rng(np.random.SeedSequence(5)).random() ==
    np.random.default_rng(5).random(),
)
"""
    expected = repr((True, True, True, "PCG64", True, True, True))
    assert seen(body, number=1) == (expected, True)
    for wrong in ("np.random.default_rng(-1)", "random.seed([1])", "np.random.seed(-1)"):
        body = f"import random; import numpy as np\ntry: {wrong}\nexcept Exception as e: seen = e"
        assert seen(body, number=1) == seen(body), wrong


ORDER = "seen = list({f'model_{n}' for n in range(20)})"


@behind_each_wall
def test_the_order_of_sets_follows_from_the_seed_of_hashes(enclosure):
    orders = [seen(ORDER, enclosure=enclosure, hash_seed=number)[0] for number in (0, 0, 1, 2)]
    assert orders[0] == orders[1]
    assert len(set(orders)) == 3


HIDE = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def tried(number):
    out = 1
    return libc.tee(number, out, 16, 2), ctypes.get_errno(), libc.lseek(number, 0, 0)
seen = {tried(number) for number in range(3, 20)}
"""


@behind_each_wall
def test_a_seed_cannot_be_read_and_left_in_its_pipe(enclosure):
    told, drew = seen(HIDE, enclosure=enclosure)
    assert {outcome[:2] for outcome in eval(told)} == {(-1, 1)}
    assert not drew


@behind_each_wall
def test_a_seed_that_is_read_past_the_names_is_seen(enclosure):
    body = """
import os
seen = []
for number in range(3, 20):
    try:
        os.set_blocking(number, False)
        seen.append(os.read(number, 64).hex())
    except OSError:
        pass
"""
    told, drew = seen(body, number=5, enclosure=enclosure)
    assert seed_of(3, 5).hex() in told
    assert drew
