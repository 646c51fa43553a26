import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import colocate

ROOT = Path(colocate.__file__).parent


def test_every_public_name_is_there_and_nothing_else():
    assert sorted(colocate.__all__) == sorted(set(colocate.__all__))
    assert (
        len(colocate.__all__) <= 33
    )  # with `observe`, `predict`, `replan`, `simulate` and the referee
    for name in colocate.__all__:
        assert getattr(colocate, name) is not None
    assert dir(colocate) == sorted(colocate.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = colocate.nothing


def test_every_module_says_what_it_is_and_can_be_imported_alone():
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        if parts[-1] == "__main__":
            continue
        name = ".".join(parts).removesuffix(".__init__")
        assert import_module(name).__doc__, name


@pytest.mark.parametrize(
    "first",
    ["from colocate.simulate.demand.kinds import PoissonDemand", "import colocate.simulate.run"],
)
def test_simulate_is_the_function_whatever_is_imported_before_it(first):
    code = f"{first}\nfrom colocate import simulate\nprint(callable(simulate), simulate.__module__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True colocate.advise.simulation.simulate\n"


def test_importing_the_package_does_nothing_heavy():
    code = "import sys, colocate; print(sorted({m.split('.')[0] for m in sys.modules}))"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    for heavy in ("numpy", "numba", "ortools", "pydantic", "rich", "typer", "yaml"):
        assert f"'{heavy}'" not in found
