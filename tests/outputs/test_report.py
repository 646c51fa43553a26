import re
import shlex
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

from colocate import Gpu, Model, Problem, solve
from colocate.errors import OutputError
from colocate.outputs.page.palette import colour_of, on_paper
from colocate.outputs.plan.fleet_bars import MOST_BARS, cut_in_middle, fleet_bars
from colocate.outputs.plan.words import peak_line, proof_line
from colocate.outputs.report import Alternative, Comparison, compare, report_page
from colocate.outputs.report.bound import bound_sentences
from colocate.outputs.report.tables import beside
from colocate.outputs.text.whole_files import write_bytes, write_text
from colocate.problem.certificate import Certificate, Proof
from colocate.solver.plan import Plan, Status
from tests.cli.test_commands import run
from tests.outputs.made_plans import HOSTILE, fleet_from, large, named, plan_of, small
from tests.pages import Page

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "fleet.yaml"
COMMAND = "colocate plan fleet.yaml --report plan.html"


def page_of(fleet, plan, command=COMMAND):
    return report_page(plan, fleet, compare(plan), command)


def test_the_headline_says_what_the_table_says():
    fleet, plan = small()
    page = Page(page_of(fleet, plan))
    assert peak_line(plan) == "peak pressure 0.0937500 on b"
    assert "Peak pressure 0.0937500 on b" in page.text
    by_search = "by exhaustive search, tree too large to keep"
    assert proof_line(plan) == f"proven to be at most 25% above the optimum, {by_search}"
    assert "Proven to be at most 25% above the optimum, by exhaustive search" in page.text


def test_memory_of_gpus_without_models_is_no_cache():
    gpus = [{"name": name, "memory_gb": memory} for name, memory in (("a", 80), ("b", 40))]
    fleet = fleet_from(gpus, [{"name": "m", "size_gb": 30, "load": 1}])
    alone = Page(page_of(fleet, plan_of(fleet, {"m": ("a",)})))
    assert "30 GB of models, 50 GB KV cache, 40 GB on GPUs without models" in alone.text
    fleet, plan = small()
    assert "GPUs without models" not in Page(page_of(fleet, plan)).text


def test_bars_of_unequal_gpus_with_reserve_free_memory_and_all_parts():
    fleet, plan = small()
    bars = fleet_bars(plan, fleet)
    first, second, third = bars.drawn
    assert bars.largest_gb == 80
    assert [(part.name, part.which, part.size_gb, part.load) for part in first.parts] == [
        ("wide", "shard 1/2", 30, 1),
        ("hot", "replica 1/2", 16, 1.5),
    ]
    assert (first.used_gb, first.free_gb, first.reserve_gb) == (46, 34, 0)
    assert [(use.resource, use.amount, use.limit) for use in first.uses] == [("slots", 3, 4)]
    assert [(part.name, part.which) for part in second.parts] == [("wide", "shard 2/2")]
    assert (third.memory_gb, third.used_gb, third.free_gb, third.reserve_gb) == (40, 16, 16, 8)
    assert third.worst
    assert third.of_peak == 1
    assert first.of_peak == pytest.approx(2.5 / 34 / 0.09375)


def test_widths_are_shares_of_the_memory():
    text = page_of(*small())
    assert 'class="bar" style="width:50.00%"' in text
    parts = re.findall(r'class="part" title="([^:]+):[^"]*" style="width:([\d.]+)%', text)
    assert parts == [
        ("wide, shard 1/2", "37.500"),
        ("hot, replica 1/2", "20.000"),
        ("wide, shard 2/2", "37.500"),
        ("hot, replica 2/2", "40.000"),
    ]
    assert re.findall(r'class="free"[^>]*width:([\d.]+)%', text) == ["42.500", "62.500", "40.000"]
    assert re.findall(r'class="reserve"[^>]*width:([\d.]+)%', text) == ["20.000"]


def test_models_with_small_tiles_are_named_below_the_bar():
    sizes = {"large": 30, **{f"small-{number}": 1 + number for number in range(8)}}
    models = [{"name": name, "size_gb": size, "load": 1} for name, size in sizes.items()]
    fleet = fleet_from([{"name": "g", "memory_gb": 80}], models)
    plan = plan_of(fleet, dict.fromkeys(sizes, ("g",)))
    figure = page_of(fleet, plan).split("</figure>")[0]
    bar, beside_it = figure.split('class="beside"')
    shown = [re.sub(r"<[^>]*>", " ", text).split() for text in (bar, beside_it)]
    named_in = {name: [name in words for words in shown] for name in sizes}
    assert named_in["large"] == [True, False]
    assert named_in["small-0"] == [False, True]
    assert all(map(any, named_in.values()))


def test_a_model_has_one_colour_everywhere_and_no_two_have_the_same():
    text = page_of(*small())
    found = re.findall(r'title="(wide|hot)[^"]*" style="width:[\d.]+%;(--hue:[^"]+)"', text)
    assert len(found) == 4
    assert len(set(found)) == 2
    colours = {colour_of(number) for number in range(2000)}
    assert len({(f"{colour.hue:.1f}", colour.tier) for colour in colours}) == 2000
    for red, green, blue in map(on_paper, colours):
        assert all(0 <= amount <= 1 for amount in (red, green, blue))
        assert 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.5, "letters must be readable"


def test_what_is_asleep_split_or_limited_is_told():
    page = Page(page_of(*small()))
    for words in ("Models asleep", "dozing", "Models on several GPUs", "a-0 + a-1", "3 / 4"):
        assert words in page.text
    assert "1 of 3 models" in page.text
    assert "Asleep: dozing; demand lost 4" in page.text
    assert "dozing" not in page.text.partition("Asleep: ")[0]


def test_the_bottleneck_is_marked_once_in_figure_and_table():
    text = page_of(*small())
    assert text.count('class="gpu worst"') == 1
    assert text.count('class="gauge worst"') == 1
    assert Page(text).text.count("0.0937500 ◀") == 2


def test_the_history_is_drawn_if_there_is_one():
    fleet, plan = small()
    assert "3 improvements in 0.1 s: the peak pressure from 0.200000 to 0.0937500" in page_of(
        fleet, plan
    )
    for history in ((), plan.history[:1], (plan.history[0]._replace(value=inf), plan.history[1])):
        assert "<svg" not in page_of(fleet, replace(plan, history=history))
    flat = tuple(step._replace(value=0.1, bound=0.1, seconds=0.0) for step in plan.history)
    assert "<svg" in page_of(fleet, replace(plan, history=flat))
    many = tuple(plan.history[0]._replace(seconds=n / 1000) for n in range(5000))
    assert len(page_of(fleet, replace(plan, history=many))) < 60_000


def test_other_ways_are_worked_out_for_the_same_models():
    fleet = fleet_from(
        [{"name": "g", "memory_gb": 40, "count": 3}],
        [{"name": "a", "size_gb": 10, "load": 3}, {"name": "b", "size_gb": 20, "load": 1}],
    )
    plan = plan_of(fleet, {"a": ("g-0",), "b": ("g-0",)})
    found = compare(plan)
    assert found == Comparison(Alternative(2, 0.1), Alternative(2, 0.1))
    assert beside(plan, found.dedicated) == "0.25 times as high"
    assert beside(plan, Alternative(1, plan.pressure)) == "the same"
    assert beside(plan, Alternative(1, inf)) == "higher"
    assert beside(plan, Alternative(1, None, "why not")) == "why not"


def test_another_way_that_does_not_exist_says_why():
    fleet, plan = small()
    found = compare(plan)
    assert found.greedy == Alternative(
        None, None, "not possible: greedy cannot keep the shards of a model on one node"
    )
    assert found.dedicated == Alternative(4, None, "does not fit: it needs 4 GPUs, there are 3")
    assert found.greedy.reason in Page(page_of(fleet, plan)).text
    tight = fleet_from(
        [{"name": "g", "memory_gb": 40}, {"name": "h", "memory_gb": 10}],
        [{"name": "a", "size_gb": 12, "load": 3}, {"name": "b", "size_gb": 20, "load": 1}],
    )
    dedicated = compare(plan_of(tight, {"a": ("g",), "b": ("g",)})).dedicated
    assert dedicated.gpus == 2
    assert dedicated.reason == "does not fit: memory or a limit does not allow it"


def test_replicas_and_sleepers_of_the_plan_hold_for_the_other_ways():
    fleet = fleet_from(
        [{"name": "g", "memory_gb": 40, "count": 4}],
        [
            {"name": "hot", "size_gb": 10, "load": 6, "replicas": "auto"},
            {"name": "idle", "size_gb": 40, "rate": 1, "slo": 1, "may_sleep": True},
        ],
        most_pressure=0.08,
    )
    plan = plan_of(fleet, {"hot": ("g-0", "g-1", "g-2"), "idle": ()})
    assert compare(plan) == Comparison(
        Alternative(3, pytest.approx(2 / 30)), Alternative(3, pytest.approx(2 / 30))
    )


def test_what_the_bound_is_made_of():
    problem = Problem([Gpu("g", 40)], [Model("a", 10, load=2), Model("b", 10, load=1)])
    plan = solve(problem)
    all_load, alone = 0.15 - 1e-9, 2 / 30 - 1e-9
    for certificate, proof, meaning in (
        (Certificate(Proof.VOLUME, all_load), "all load, 3, over all free memory, 20 GB",
         "could be cut and spread at will"),
        (Certificate(Proof.MODEL, alone, model="a"), "a has a load of 2 and leaves 30 GB of",
         "It has this pressure on its own"),
        (Certificate(Proof.MULTIPLIERS, all_load, multipliers=(2, 1)), "by multipliers: ",
         "The largest multipliers belong to a (67%) and b (33%)."),
        (Certificate(Proof.SEARCH, 0.15, nodes=1234), "by an exhaustive search of 1,234 nodes",
         "An exhaustive search found no way to stay below it"),
    ):  # fmt: skip
        told = bound_sentences(replace(plan, certificate=certificate))
        assert told[0].startswith(f"No placement has a lower peak than {certificate.bound:#.6g}, ")
        assert proof in told[0]
        assert meaning in told[1]


def test_what_is_not_proven_is_not_said_to_be():
    problem = Problem([Gpu("g", 40)], [Model("a", 10, load=2), Model("b", 10, load=1)])
    plan = solve(problem)
    (sentence,) = bound_sentences(replace(plan, certificate=None))
    assert sentence.startswith("Nothing is proven")
    false = Certificate(Proof.MULTIPLIERS, 0.15, multipliers=(3, 0))
    (sentence,) = bound_sentences(replace(plan, certificate=false))
    assert sentence.startswith("The plan states a bound of 0.150000, but that is not proven: ")


def test_of_many_gpus_the_most_pressed_are_shown_and_the_rest_counted():
    fleet, plan = large()
    bars = fleet_bars(plan, fleet)
    assert len(bars.drawn) == MOST_BARS
    assert min(bar.pressure for bar in bars.drawn) >= max(bar.pressure for bar in bars.left_out)
    text = page_of(fleet, plan)
    assert len(text) < 300_000
    assert "The 64 most pressed GPUs are shown. The other 448 are at " in text
    many = fleet_from(
        [{"name": "g", "memory_gb": 80}],
        [
            {"name": f"m{n}", "size_gb": 0.01, "load": 1, "kv_bytes_per_token": 0}
            for n in range(2000)
        ],
    )
    text = page_of(many, plan_of(many))
    assert len(text) < 60_000
    assert "and 1960 smaller ones" in text


def test_names_cannot_give_orders():
    harmless = [letter * len(name) for letter, name in zip("abcde", HOSTILE, strict=False)]
    harmless.append("f f " * 75)
    text = page_of(*named(HOSTILE), "colocate plan '<script>'")
    page = Page(text)
    assert page.shape == Page(page_of(*named(harmless), "colocate plan x")).shape
    assert "<script" not in text
    assert "\u202e" not in text
    assert "<script>document.title='taken'</script>" in page.text
    assert "colocate plan '<script>'" in page.text


@pytest.mark.parametrize("made", [small, large], ids=lambda made: made.__name__)
def test_the_page_is_whole_and_needs_nothing_else(made):
    text = page_of(*made())
    page = Page(text)
    assert text.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert not re.search(r"https?:|src=|url\(|@import|<link|<script", text)
    assert all(attributes["scope"] == "col" for attributes in page.all("th"))
    assert len(page.all("caption")) == len(page.all("table"))
    anchors = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(anchors) == len(set(anchors))
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text


def test_the_same_plan_is_the_same_page():
    assert page_of(*small()) == page_of(*small())


def test_an_infinite_peak_and_no_load_at_all():
    full = fleet_from(
        [{"name": "g", "memory_gb": 40}],
        [{"name": "m", "size_gb": 40, "load": 1, "kv_bytes_per_token": 0}],
    )
    assert "Peak pressure ∞ on g" in page_of(full, plan_of(full))
    idle = fleet_from([{"name": "g", "memory_gb": 40}], [{"name": "m", "size_gb": 4, "load": 0}])
    page = Page(page_of(idle, plan_of(idle)))
    assert "Peak pressure 0.00000 on g" in page.text
    assert not [kinds for _, kinds in page.elements if kinds.get("class") == "gpu worst"]


def test_no_placement_is_a_page_with_the_reason():
    fleet, plan = small()
    none = Plan(fleet.problem, Status.INFEASIBLE, reason="models: <too> large")
    assert compare(none) is None
    page = Page(report_page(none, fleet, None, COMMAND))
    assert "No plan: infeasible" in page.text
    assert "models: <too> large" in page.text
    assert "The fleet" not in page.text
    asleep = replace(plan, placement=dict.fromkeys(plan.placement, ()))
    assert compare(asleep) is None


def test_long_names_are_cut_in_the_middle():
    assert cut_in_middle("node-17/gpu-3", 13) == "node-17/gpu-3"
    assert cut_in_middle("node-17/gpu-3", 7) == "node…u-3"
    assert cut_in_middle("node-17/gpu-3", 1) == "n…"


def test_plan_writes_the_report_with_its_command(tmp_path):
    path = tmp_path / "a plan's.html"
    done = run("plan", EXAMPLE, "--report", path, "--seed", 3)
    assert done.returncode == 0, done.stderr
    assert "peak pressure 0.0766546 on l40s" in done.stdout
    page = Page(path.read_text(encoding="utf-8"))
    assert "Proven optimal, by exhaustive search" in page.text
    assert "0.123593, 1.61 times as high" in page.text
    assert "does not fit: it needs 12 GPUs, there are 5" in page.text
    told = re.search(r"^colocate plan .*", page.text.partition("How it was made")[2], re.M)[0]
    assert shlex.split(told.partition("status")[0]) == [
        *("colocate", "plan", str(EXAMPLE), "--report", str(path), "--seed", "3")
    ]
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_written_is_said(tmp_path):
    done = run("plan", EXAMPLE, "--report", tmp_path / "nowhere" / "plan.html")
    assert done.returncode == 1
    assert "cannot be written: No such file or directory" in done.stderr
    with pytest.raises(OutputError, match="cannot be written"):
        write_bytes(tmp_path, b"")
    write_text(tmp_path / "text", "ä\n")
    assert (tmp_path / "text").read_bytes() == "ä\n".encode()
