from typing import NamedTuple

import numpy as np

from colocate.machine_code.arguments import kind_of, written


class Pair(NamedTuple):
    numbers: np.ndarray
    count: int


class Twin(NamedTuple):
    numbers: np.ndarray
    count: int


def test_the_same_code_serves_numbers_of_python_and_of_numpy():
    assert kind_of(1) == kind_of(np.int64(2))
    assert kind_of(1.0) == kind_of(np.float64(2.0))
    assert kind_of(True) == kind_of(np.bool_(False))
    assert len({kind_of(1), kind_of(1.0), kind_of(True)}) == 3


def test_the_length_of_an_array_does_not_matter():
    assert kind_of(np.zeros(3)) == kind_of(np.zeros(0))
    assert kind_of(np.zeros((1, 3))) == kind_of(np.zeros((2, 3)))
    assert kind_of(np.zeros((3, 1))) == kind_of(np.zeros((3, 4))[:2])


def test_what_arrays_hold_and_how_they_lie_in_memory_matters():
    read_only = np.zeros((2, 3))
    read_only.flags.writeable = False
    table = np.zeros((4, 6))
    arrays = [table, read_only, np.zeros(2), np.zeros((2, 3), int), table.T, table[:, ::2]]
    assert len({kind_of(array) for array in arrays}) == len(arrays)


def test_tuples_are_told_apart_by_class_and_content():
    numbers = np.zeros(2)
    given = [Pair(numbers, 1), Twin(numbers, 1), (numbers, 1), Pair(numbers, 1.0)]
    assert len({kind_of(each) for each in given}) == len(given)
    assert len({written(kind_of(each)) for each in given}) == len(given)


def test_a_kind_is_written_with_the_names_of_classes():
    assert written(kind_of((np.zeros(2), 1))) == "(builtins.tuple (float64 1 1281) int64)"
    assert written(kind_of(np.random.default_rng(0))) == "numpy.random._generator.Generator"
