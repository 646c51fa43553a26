import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from colocate import Gpu, InputError, Model, Placement, Problem


def test_load_is_rate_over_slo_unless_given():
    assert Model("m", 10, 4, 8).load == (0.5,)
    assert Model("m", 10, load=0.25).load == (0.25,)
    assert Model("m", 10, 4, 8, load=[0.1, 0.2]).load == (0.1, 0.2)
    assert Model("m", 10, load=np.array([0.1, 0.2])).load == (0.1, 0.2)


def test_models_and_gpus_are_frozen_hashable_and_survive_copying():
    gpu = Gpu("g", 80, "H100", {"compute": 0.8})
    model = Model("m", 10, 1, 2, uses={"compute": {"H100": 0.1, "T4": 0.9}})
    assert {gpu: 1, model: 2}
    assert pickle.loads(pickle.dumps((gpu, model))) == (gpu, model)
    assert replace(gpu, name="h").limits == (("compute", 0.8),)
    assert replace(model, name="n").uses == model.uses
    with pytest.raises(FrozenInstanceError):
        gpu.name = "other"
    with pytest.raises(FrozenInstanceError):
        model.size_gb = 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Gpu("g", 0), "gpu 'g': memory_gb=0, must be a finite number > 0"),
        (lambda: Gpu("g", float("inf")), "gpu 'g': memory_gb=inf, must be a finite number > 0"),
        (lambda: Gpu("", 80), "gpu: name='', must be a text that is not empty"),
        (lambda: Gpu("a\nb", 80), "gpu: name='a\\nb', must be a text without control characters"),
        (lambda: Model("\ud800", 1, 1, 1), "must be a text without control characters"),
        (lambda: Gpu("g", 10**400), "gpu 'g': memory_gb is too large for a float"),
        (lambda: Gpu("g", 80, None), "gpu 'g': kind=None, must be a text"),
        (lambda: Gpu("g", 80, limits={1: 1}), "gpu 'g': resource=1, must be a text"),
        (lambda: Model("m", -1, 1, 1), "model 'm': size_gb=-1, must be a finite number >= 0"),
        (lambda: Model("m", True, 1, 1), "model 'm': size_gb=True, must be a finite number >= 0"),
        (lambda: Model("m", 1, float("nan"), 1), "rate=nan, must be a finite number >= 0"),
        (lambda: Model("m", 1, 1, 0), "model 'm': slo=0, must be a finite number > 0"),
        (lambda: Model("m", 1, 1), "model 'm': slo is missing, give rate and slo, or load"),
        (lambda: Model("m", 1, 1e308, 1e-308), "must be a finite number"),
        (
            lambda: Model("m", 1, load=[]),
            "model 'm': load=[], must be a list with at least one window",
        ),
        (lambda: Model("m", 1, load=[0, "x"]), "model 'm': load[1]='x', must be a finite number"),
        (
            lambda: Problem([Gpu("a", 1e308), Gpu("b", 1e308)], [Model("m", 1, 1, 1)]),
            "gpus: memory_gb adds up to inf, must be a finite number",
        ),
        (
            lambda: Problem([], [Model("m", 1, 1, 1)]),
            "gpus=[], must be a list with at least one Gpu",
        ),
        (lambda: Problem([Gpu("g", 1)], []), "models=[], must be a list with at least one Model"),
        (
            lambda: Problem([Gpu("g", 1), Gpu("g", 2)], [Model("m", 1, 1, 1)]),
            "gpus[1] 'g': name='g' is already that of gpus[0], must be unique",
        ),
        (lambda: Problem([Gpu("g", 1)], ["m"]), "models[0]: found 'm', must be a Model"),
        (
            lambda: Problem(
                [Gpu("g", 1)], [Model("a", 1, load=[1, 2]), Model("b", 1, load=[1, 2, 3])]
            ),
            "models[0] 'a': load has 2 windows, give 3 like the longest load, or one",
        ),
    ],
)
def test_bad_data_is_refused_with_what_was_found_and_expected(make, message):
    with pytest.raises(InputError) as error:
        make()
    assert message in str(error.value)


def test_instance_has_windows_and_resources_from_the_start():
    problem = Problem(
        [Gpu("a", 80, "H100", {"compute": 0.8}), Gpu("b", 24, "T4")],
        [
            Model("x", 10, load=[1, 2], uses={"compute": {"H100": 0.1, "T4": 0.9}}),
            Model("y", 20, load=3, uses={"compute": 0.5}),
        ],
    )
    instance = problem.instance
    assert instance.load.tolist() == [[1, 2], [3, 3]]
    assert instance.limit.tolist() == [[0.8], [np.inf]]
    assert instance.use[instance.kind[0]].tolist() == [[0.1], [0.5]]
    assert instance.use[instance.kind[1]].tolist() == [[0.9], [0.5]]
    with pytest.raises(ValueError, match="read-only"):
        instance.size[0] = 1


def test_a_plain_problem_has_one_window_and_no_resources():
    instance = Problem([Gpu("g", 80)], [Model("m", 10, 1, 2)]).instance
    assert instance.load.shape == (1, 1)
    assert instance.use.shape == (1, 1, 0)
    assert instance.limit.shape == (1, 0)


def test_use_on_an_unnamed_kind_is_refused():
    with pytest.raises(InputError, match="no amount for GPU kind 'H100', only for T4"):
        Problem(
            [Gpu("a", 80, "H100", {"compute": 1})],
            [Model("x", 1, 1, 1, uses={"compute": {"T4": 1}})],
        )


def test_a_copy_is_as_frozen_as_the_problem():
    problem = Problem([Gpu("g", 80)], [Model("m", 10, 1, 2)])
    assert problem.instance.size[0] == 10
    copied = pickle.loads(pickle.dumps(problem))
    assert copied == problem
    assert not copied.instance.size.flags.writeable


def test_placement_is_a_hashable_mapping():
    placement = Placement({"a": ["g0"], "b": ("g1",)})
    assert placement["a"] == ("g0",)
    assert placement == {"a": ("g0",), "b": ("g1",)}
    assert hash(placement) == hash(Placement({"b": ["g1"], "a": ["g0"]}))
    assert "g1" in repr(placement)
