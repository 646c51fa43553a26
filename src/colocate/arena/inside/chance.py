"""The chance that a program gets: nothing, until it reaches for a generator of random numbers.

The seed of a case waits in a pipe. A program knows it only after this module has read the pipe, and
the referee sees from outside whether anything was read. So a program that draws cannot hide it.

Under the seed 0, generators with a seed of their own draw as they do everywhere. Under any other
seed, that one goes into theirs: a lucky constant is worth nothing.
"""

import _random
import os
import random
import struct
import sys
from collections.abc import Callable
from functools import cache
from random import Random
from types import ModuleType
from typing import Any

FORM = "=QQ"
"""What the pipe holds: the seed of a case, and a salt for the seeds that a program sets itself."""
BITS = 64
"""Of a draw that stands for the seed of a program."""
WORD = 1 << 32
"""Seeds of numpy's older generator, and parts of longer ones, are below this."""
STARTED_BY_NUMPY = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
"""The generators below numpy's `Generator`."""


class _Waiting(ModuleType):
    """A module whose generators get their seed when a program first asks for any name in it."""

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("_"):
            self.__class__ = ModuleType  # type: ignore[assignment]
            _WAKE[ModuleType.__getattribute__(self, "__name__")]()
        return ModuleType.__getattribute__(self, name)


_WAKE: dict[str, Callable[[], None]] = {}
"""What seeds the generators of each module."""


_instance: Any = random.__dict__["_inst"]
_usual_seed = Random.seed
"""The generator behind the functions of `random`, and how it is seeded before anything is lent."""
_pipes: list[int] = []
"""The pipe of the case that this process is; none in the process that forks for cases."""


def lend() -> None:
    """Let each case that this process forks draw from the chance that it is given.

    What is made ready here is not made again, and not copied, in every case.
    """

    @cache
    def told() -> tuple[int, int]:
        return _numbers(os.read(_pipes[0], struct.calcsize(FORM)))

    _lend_python(told)
    if "numpy.random" in sys.modules:
        _lend_numpy(told)


def take(pipe: int) -> None:
    """Let this process, a case, draw from the chance that waits in a pipe, and from no other."""
    _pipes.append(pipe)
    _usual_seed(_instance, 0)  # what a program finds that goes around the names of the module


def _numbers(data: bytes) -> tuple[int, int]:
    """Return the seed and the salt; a pipe without anything in it stands for zeros."""
    seed, salt = struct.unpack(FORM, data) if len(data) == struct.calcsize(FORM) else (0, 0)
    return seed, salt


def _lend_python(told: Callable[[], tuple[int, int]]) -> None:
    python: Any = random
    kind: Any = Random

    @cache
    def draw() -> Random:
        return _seeded(told()[0])

    def seed(self: Random, a: Any = None, version: int = 2) -> None:
        _usual_seed(self, draw().getrandbits(BITS) if a is None else a, version)
        if a is not None and told()[1]:
            _usual_seed(self, f"{_random.Random.getrandbits(self, BITS)} {told()[1]}")

    kind.seed = seed
    python.seed = _instance.seed
    python._urandom = os.urandom = lambda size: draw().randbytes(size)
    os.getrandom = lambda size, flags=0: draw().randbytes(size)
    _WAKE["random"] = lambda: _usual_seed(_instance, told()[0])
    random.__class__ = _Waiting


def _seeded(seed: int) -> Random:
    generator = Random.__new__(Random)
    _random.Random.seed(generator, seed)
    return generator


def _lend_numpy(told: Callable[[], tuple[int, int]]) -> None:
    numpy_random: Any = sys.modules["numpy.random"]
    numpy_random.seed(0)

    @cache
    def draw() -> Random:
        return _seeded(told()[0])

    # The entropy that a numpy generator without a seed would ask the machine for.
    numpy_random.bit_generator.randbits = lambda bits: draw().getrandbits(bits)

    def wake() -> None:
        seed, salt = told()
        numpy_random.seed(seed % WORD)
        if salt:
            _salt_numpy(numpy_random, [salt % WORD, salt // WORD])

    _WAKE["numpy.random"] = wake
    numpy_random.__class__ = _Waiting


def _salt_numpy(numpy_random: Any, salt: list[int]) -> None:
    """Let a salt go into every seed that a program gives to numpy."""
    older, sequence = numpy_random.RandomState, numpy_random.SeedSequence
    of_module, generator = numpy_random.seed, numpy_random.default_rng
    ready = (numpy_random.BitGenerator, numpy_random.Generator, older, sequence)

    def mixed(seed: Any) -> Any:
        """Return a seed with salt, unless it is a generator or a sequence that has it already."""
        if isinstance(seed, ready) or hasattr(seed, "generate_state"):
            return seed
        return sequence([*map(int, sequence(seed).generate_state(4)), *salt])

    class _SeedSequence(sequence):  # type: ignore[misc, valid-type]
        def __init__(self, entropy: Any = None, **more: Any) -> None:
            written = sequence(entropy, **more).generate_state(4)
            super().__init__([*map(int, written), *salt], **more)

    class _RandomState(older):  # type: ignore[misc, valid-type]
        def __init__(self, seed: Any = None) -> None:
            super().__init__(seed)
            if not isinstance(seed, ready):
                self.seed(seed)

        def seed(self, seed: Any = None) -> None:
            older.seed(self, seed)
            older.seed(self, [*older.randint(self, WORD, size=4).tolist(), *salt])

    def seed_of_module(seed: Any = None) -> None:
        of_module(seed)
        of_module([*numpy_random.randint(WORD, size=4).tolist(), *salt])

    numpy_random.SeedSequence, numpy_random.RandomState = _SeedSequence, _RandomState
    numpy_random.seed = seed_of_module
    numpy_random.default_rng = lambda seed=None: generator(mixed(seed))
    for name in STARTED_BY_NUMPY:
        setattr(numpy_random, name, _salted(getattr(numpy_random, name), mixed))


def _salted(kind: Any, mixed: Callable[[Any], Any]) -> Any:
    class _Salted(kind):  # type: ignore[misc]
        def __init__(self, seed: Any = None, **more: Any) -> None:
            super().__init__(mixed(seed), **more)

    _Salted.__name__ = _Salted.__qualname__ = kind.__name__
    return _Salted
