import numpy as np
import pytest

from colocate import Gpu, Model, Problem
from colocate.machine_code import entry
from colocate.machine_code.entry import EntryKernel, compiled_together
from colocate.problem.layout import arrange, empty, empty_layout
from colocate.problem.pressure import pressures


@pytest.fixture
def compiled(monkeypatch):
    """What is compiled, while nothing is found in files."""
    requests = []
    monkeypatch.setattr(entry, "_compile", requests.append)
    monkeypatch.setattr("colocate.machine_code.library.code_of", lambda _: None)
    return requests


def test_kernels_run_as_python_until_all_are_compiled_together(compiled):
    instance = Problem([Gpu("g", 80)], [Model("m", 20, 3, 6)]).instance
    layout = empty_layout(instance)
    fresh_empty, fresh_arrange = EntryKernel(empty.py_func), EntryKernel(arrange.py_func)
    with compiled_together():
        fresh_arrange(instance, layout, np.zeros(1, np.int64))
        assert layout.pressure[0] == 0.5 / 60
        fresh_empty(layout)
        fresh_empty(layout)
        assert layout.pressure[0] == 0.0
        assert compiled == []
    (together,) = compiled
    assert [request.kernel for request in together] == ["arrange", "empty"]


def test_nothing_is_compiled_for_what_kernels_call_among_themselves(compiled):
    inner = EntryKernel(lambda x: x + 1)
    outer = EntryKernel(lambda x: inner(x) * 2)
    with compiled_together():
        assert outer(1) == 4
    ((request,),) = compiled
    assert request.kinds == ("int64",)


def test_nothing_is_compiled_if_the_work_fails(compiled):
    def failing():
        with compiled_together():
            EntryKernel(lambda x: x)(1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert compiled == []


def test_where_code_cannot_be_loaded_alone_numba_does_it_all(compiled, monkeypatch):
    monkeypatch.setattr("colocate.machine_code.environment.loads_without_numba", lambda: False)
    loads, used, capacity = np.array([[1.0], [0.0]]), np.array([20.0, 80.0]), np.array([80.0, 80.0])
    found = EntryKernel(pressures.py_func)(loads, used, capacity)
    assert found.tolist() == pressures.py_func(loads, used, capacity).tolist() == [1 / 60, 0.0]
    assert compiled == []


def test_a_block_inside_another_waits_for_the_end_of_that_one(compiled):
    with compiled_together():
        with compiled_together():
            EntryKernel(lambda x: x)(1)
        assert compiled == []
    assert len(compiled) == 1
