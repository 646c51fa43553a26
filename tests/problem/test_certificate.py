"""Certificates as text: what comes back, what is refused, and how little hostile ones cost."""

import json
import time
from base64 import b85encode
from dataclasses import replace
from math import inf, nan
from zlib import compress

import pytest

from colocate import InputError
from colocate.problem.certificate import MOST_SYMBOLS, MOST_TEXT, Certificate, Proof, unpacked

TREE = Certificate(Proof.TREE, 0.5, nodes=3, order=(1, 0, 2), tree=b"\1\2\3\0\0\0")
PROOFS = [
    Certificate(Proof.VOLUME, 0.5, window=2),
    Certificate(Proof.VOLUME, inf),
    Certificate(Proof.MODEL, 0.25, model="m"),
    Certificate(Proof.MODEL, inf, model="m"),
    Certificate(Proof.MULTIPLIERS, 0.5, window=1, multipliers=(1, 2, 10**30)),
    TREE,
    replace(TREE, bound=inf),
    replace(TREE, bound=inf, finite=True),
    Certificate(Proof.SEARCH, 0.5, nodes=7),
    Certificate(Proof.SEARCH, inf, nodes=7, finite=True),
    Certificate(Proof.SOLVERS, 0.5),
]


@pytest.mark.parametrize("proof", PROOFS, ids=lambda proof: f"{proof.proof}-{proof.bound}")
def test_what_is_written_is_read_again(proof):
    text = json.dumps(proof.as_dict(), allow_nan=False)
    assert Certificate.from_dict(json.loads(text)) == proof


FORMER = {"proof": "weights", "bound": 0.5, "window": 1, "weights": [1, 2]}


def test_a_certificate_of_an_earlier_version_is_read():
    read = Certificate.from_dict(FORMER)
    assert read == Certificate(Proof.MULTIPLIERS, 0.5, window=1, multipliers=(1, 2))
    assert read.fingerprint == FORMER
    written = {"proof": "multipliers", "bound": 0.5, "window": 1, "multipliers": [1, 2]}
    assert read.as_dict() == written


@pytest.mark.parametrize("change", [{"multipliers": [1, 2]}, {"proof": "multipliers"}])
def test_a_certificate_in_the_words_of_two_versions_is_refused(change):
    with pytest.raises(InputError, match="certificate: "):
        Certificate.from_dict({**FORMER, **change})


def test_only_a_tree_that_says_so_is_about_finite_pressures():
    assert "finite" not in TREE.as_dict()
    assert replace(TREE, bound=inf, finite=True).as_dict()["finite"] is True
    assert TREE.as_dict()["bound"] == 0.5
    assert replace(TREE, bound=inf).as_dict()["bound"] == "Infinity"


def packed(symbols):
    return b85encode(compress(symbols)).decode()


@pytest.mark.parametrize(
    "change",
    [
        {"tree": None},
        {"tree": 5},
        {"tree": "no base 85 \n"},
        {"tree": b85encode(b"no zlib").decode()},
        {"tree": packed(b"cut off")[:-5]},
        {"tree": b85encode(compress(b"twice") + b"and more").decode()},
        {"tree": packed(bytes(MOST_SYMBOLS + 1))},
        {"tree": "0" * (MOST_TEXT + 5)},
        {"order": [0, 1.5]},
        {"order": "012"},
        {"order": None},
        {"nodes": "many"},
        {"nodes": nan},
        {"bound": nan},
        {"bound": -0.1},
        {"bound": inf},
        {"bound": "infinity"},
        {"bound": True},
        {"bound": 10**400},
        {"finite": True},
        {"finite": False},
        {"multipliers": [1]},
        {"proof": "search"},
        {"proof": "faith"},
    ],
)
def test_what_is_no_tree_is_refused(change):
    with pytest.raises(InputError, match="certificate: "):
        Certificate.from_dict({**TREE.as_dict(), **change})


def test_multipliers_prove_no_infinite_bound():
    data = Certificate(Proof.MULTIPLIERS, 0.5, multipliers=(1,)).as_dict()
    with pytest.raises(InputError, match="finite"):
        Certificate.from_dict({**data, "bound": "Infinity"})


def test_a_bomb_is_not_unpacked():
    bomb = packed(bytes(2**28))
    start = time.perf_counter()
    with pytest.raises(ValueError, match="too large"):
        unpacked(bomb)
    assert time.perf_counter() - start < 3.0


def test_a_tree_may_be_packed_in_other_ways():
    other = {**TREE.as_dict(), "tree": b85encode(compress(TREE.tree, 0)).decode()}
    assert other["tree"] != TREE.as_dict()["tree"]
    assert Certificate.from_dict(other) == TREE
    assert Certificate.from_dict(other).fingerprint == TREE.fingerprint
