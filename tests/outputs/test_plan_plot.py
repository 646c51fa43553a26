import re
import struct
import sys
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from colocate.errors import InputError
from colocate.inputs.fleet import read_fleet
from colocate.outputs.page.figure import LOOKS
from colocate.outputs.plan.fleet_bars import fleet_bars
from colocate.outputs.plan.plot import _Drawing, plan_plot
from colocate.problem.placement import Placement
from colocate.solver.plan import Plan, Status
from colocate.solver.solve import solve
from tests.cli.test_commands import run
from tests.outputs.made_plans import HOSTILE, fleet_from, large, named, plan_of, small

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "fleet.yaml"


def texts(svg):
    """Return what is written in a picture: letters are drawn, and named in a comment."""
    return [line.strip() for line in re.findall(r"<!--(.*?)-->", svg.decode())]


def settings():
    """Return what is set for everyone; to read which backend is would load pyplot."""
    return {name: matplotlib.rcParams[name] for name in matplotlib.rcParams if name != "backend"}


def long_named(gpus):
    return fleet_from(
        [
            {"name": f"machine-{n}.rack.cluster.example/gpu", "memory_gb": 80 - 20 * (n % 3),
             "reserve_gb": 2}
            for n in range(gpus)
        ],
        [
            {"name": f"some-organisation/a-model-with-a-long-name-{n}-instruct",
             "size_gb": 1 + 7 * n % 13, "load": 1 + n % 5}
            for n in range(4 * gpus)
        ],
    )  # fmt: skip


@pytest.mark.parametrize("gpus", [1, 5, 32, 64])
def test_no_text_overlaps_another_or_leaves_the_picture(gpus):
    fleet = long_named(gpus)
    plan = plan_of(fleet)
    with matplotlib.rc_context(LOOKS):
        figure = _Drawing(plan, fleet_bars(plan, fleet)).figure()
        renderer = FigureCanvasAgg(figure).get_renderer()
        boxes = [text.get_window_extent(renderer) for text in figure.axes[0].texts]
    assert len(boxes) >= 3 * gpus
    page = figure.bbox
    for number, box in enumerate(boxes):
        assert page.x0 <= box.x0 <= box.x1 <= page.x1
        assert page.y0 <= box.y0 <= box.y1 <= page.y1
        assert not any(box.overlaps(other) for other in boxes[:number])


def test_bars_are_to_scale_and_a_model_has_one_colour():
    fleet, plan = small()
    drawing = _Drawing(plan, fleet_bars(plan, fleet))
    rows = {}
    for bar in drawing.figure().axes[0].patches:
        rows.setdefault(round(bar.get_y() + bar.get_height() / 2, 3), []).append(bar)
    first, second, third = ([bar.get_width() for bar in row] for row in rows.values())
    unit = first[0] / 30
    assert first[:3] == pytest.approx([30 * unit, 16 * unit, 34 * unit])
    assert second[:2] == pytest.approx([30 * unit, 50 * unit])
    assert third[:3] == pytest.approx([16 * unit, 16 * unit, 8 * unit])
    (wide, hot, *_), (other, *_), (replica, *_) = (
        [bar.get_facecolor() for bar in row] for row in rows.values()
    )
    assert (wide, hot) == (other, replica)
    assert wide != hot


def test_the_picture_says_what_the_table_says():
    fleet, plan = small()
    written = texts(plan_plot(plan, fleet, "svg"))
    assert "Peak pressure 0.0937500 on b" in written
    proof = (
        "Proven to be at most 25% above the optimum, by exhaustive search, tree too large to keep"
    )
    assert f"{proof}; asleep: dozing; demand lost 4" in written
    assert {"a-0", "a-1", "b", "wide (shard 1/2)", "34 GB free", "0.0937500"} <= set(written)


@pytest.mark.parametrize("form", ["svg", "png"])
def test_the_same_plan_is_the_same_picture_and_settings_stay(form):
    before, loaded = settings(), set(sys.modules)
    fleet, plan = small()
    drawn = plan_plot(plan, fleet, form)
    with matplotlib.rc_context({"font.size": 30.0, "svg.hashsalt": "other", "savefig.dpi": 7}):
        assert plan_plot(plan, fleet, form) == drawn
    assert settings() == before
    assert "matplotlib.pyplot" not in set(sys.modules) - loaded


def test_png_is_a_picture_of_many_gpus():
    data = plan_plot(*reversed(large()), "png")
    assert data.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", data[16:24])
    assert width == 1600
    assert 64 * 40 < height < 64 * 60


def test_hostile_names_are_letters_only():
    fleet, plan = named(HOSTILE)
    root = ElementTree.parse(BytesIO(plan_plot(plan, fleet, "svg"))).getroot()
    found = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert not found & {"script", "image", "a", "foreignObject"}


def test_what_cannot_be_drawn_is_said(monkeypatch):
    fleet, plan = small()
    none = Plan(fleet.problem, Status.INFEASIBLE, reason="too large")
    with pytest.raises(InputError, match="no placement to draw"):
        plan_plot(none, fleet, "svg")
    monkeypatch.setattr("colocate.outputs.page.figure.find_spec", lambda _: None)
    with pytest.raises(
        InputError, match=r"needs matplotlib: pip install matplotlib, or '\.\[plot\]' from a clone"
    ):
        plan_plot(plan, fleet, "svg")


@pytest.mark.parametrize("name", ["plan.pdf", "plan", "svg"])
def test_another_ending_is_refused_before_any_work(name, tmp_path):
    done = run("plan", "no-such-fleet.yaml", "--plot", tmp_path / name)
    assert done.returncode == 2
    assert f"{name} must end in .svg or .png" in " ".join(done.stderr.split())


def test_plan_draws_what_the_name_of_the_file_asks_for(tmp_path):
    for name, start in (("plan.svg", b"<?xml"), ("plan.png", b"\x89PNG")):
        done = run("plan", EXAMPLE, "--plot", tmp_path / name)
        assert done.returncode == 0, done.stderr
        assert "peak pressure 0.0766546" in done.stdout
        assert (tmp_path / name).read_bytes().startswith(start)


def test_the_picture_in_the_docs_is_the_plan():
    fleet = read_fleet(EXAMPLE)
    drawn = plan_plot(solve(fleet.problem, levels=None), fleet, "svg")
    assert texts((ROOT / "docs" / "plan.svg").read_bytes()) == texts(drawn), "run make picture"


def test_many_sleepers_are_counted_not_listed():
    fleet, plan = small()
    names = [f"sleeper-{n}" for n in range(30)]
    placement = Placement({**plan.placement, **dict.fromkeys(names, ())})
    written = texts(plan_plot(replace(plan, placement=placement), fleet, "svg"))
    assert any("31 models asleep; demand lost" in text for text in written)
    assert not any("sleeper-" in text for text in written)
