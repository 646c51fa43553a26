"""`colocate observe` as people use it: tables, JSON, files, diffs, and what goes wrong."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from colocate.advise.planned import against_plan
from colocate.cli.main import app, main
from colocate.inputs.fleet import parse_fleet, read_fleet
from colocate.inputs.observation.estimate import Estimate
from colocate.inputs.observation.observation import Remark, SourceNote
from colocate.outputs.observation.table import planned_rows
from colocate.outputs.observation.words import note_line, shown_estimate
from tests.inputs.observation.fake_prometheus import Store, serving
from tests.inputs.observation.test_demand_changes import observation
from tests.inputs.observation.test_prometheus import vllm
from tests.outputs.made_plans import HOSTILE

HEAD = "arrival_s,model,prompt_tokens,output_tokens\n"
FLEET = """# our fleet
gpus: [{node: n, kind: H200, count: 2}]
models:
  - name: chat   # people
    size_gb: 16
    rate: 6
    slo: 5
    prompt_tokens: 512
    output_tokens: 64
    kv_bytes_per_token: 131072
  - {name: code, size_gb: 16, rate: 6, slo: 5, prompt_tokens: 512, output_tokens: 64,
     kv_bytes_per_token: 131072}
"""


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "trace.csv"
    rows = [f"{n / 2},{'chat' if n % 3 else 'mail'},100,20\n" for n in range(600)]
    path.write_text(HEAD + "".join(rows))
    return path


@pytest.fixture
def fleet(tmp_path):
    path = tmp_path / "fleet.yaml"
    path.write_text(FLEET)
    return path


def run(*arguments):
    return CliRunner().invoke(app, ["observe", *map(str, arguments)])


def ended(arguments, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["colocate", "observe", *map(str, arguments)])
    with pytest.raises(SystemExit) as caught:
        main()
    return caught.value.code, capsys.readouterr().err


def test_a_table_says_what_was_measured(trace):
    found = run(trace)
    assert found.exit_code == 0, found.output
    assert "2 models, 2 requests a second in 4.99 minutes" in found.stdout
    assert "300 bins of 1 second; peaks and bursts: in bins of 3 seconds\n" in found.stdout
    assert "the rate of the last 25 seconds misses that of the next 25 seconds by" in found.stdout
    assert "counted: every request when it came" in found.stdout
    assert "hours of earlier days: unknown, the history is 4.99 minutes long" in found.stdout
    assert "chat" in found.stdout


def test_json_has_all_of_it(trace, fleet):
    found = json.loads(run(trace, "--json", "--fleet", fleet).stdout)
    assert [model["name"] for model in found["models"]] == ["chat", "mail"]
    assert found["models"][0]["rate"]["value"] == pytest.approx(400 / 299.5)
    assert found["models"][0]["basis"] == "arrived"
    assert len(found["models"][0]["rates"]) == 300
    assert (found["bin_seconds"], found["peak_bin_seconds"]) == (1.0, 3.0)
    assert found["models"][0]["predictability"]["yesterday"] is None
    assert found["fleet"]["not_in_fleet"] == ["mail"]
    assert found["fleet"]["not_measured"] == ["code"]
    assert [each["field"] for each in found["fleet"]["changes"] if each["off"]] == [
        "rate", "rate_uncertainty", "prompt_tokens", "output_tokens"]  # fmt: skip


def test_update_keeps_comments_and_shows_what_changed(trace, fleet):
    found = run(trace, "--fleet", fleet, "--update")
    assert found.exit_code == 0, found.output
    assert "-    rate: 6" in found.stdout
    assert "+    rate: 1.336" in found.stdout
    text = fleet.read_text()
    assert text.startswith("# our fleet\n")
    assert "- name: chat   # people\n" in text
    assert yaml.safe_load(text)["models"][0]["prompt_tokens"] == 100
    again = run(trace, "--fleet", fleet, "--update")
    assert "nothing to change" in again.output


def test_a_mapping_says_which_model_it_is(trace, fleet):
    found = run(trace, "--fleet", fleet, "--map", "mail=code", "--update")
    assert "not in the fleet" not in found.output
    assert yaml.safe_load(fleet.read_text())["models"][1]["rate"] == 0.6678


def test_a_new_fleet_file_says_what_is_to_fill_in(trace, tmp_path):
    path = tmp_path / "draft.yaml"
    found = run(trace, "--write", path, "--gpus", "H100=4")
    assert found.exit_code == 0, found.output
    assert "sizes are not measured: give config or size_gb of 'chat' and 'mail'" in found.output
    data = yaml.safe_load(path.read_text())
    assert data["gpus"] == [{"kind": "H100-80GB", "count": 4}]
    assert data["models"][0] == {
        "name": "chat", "config": "chat", "rate": 1.336, "prompt_tokens": 100,
        "output_tokens": 20, "tpot_slo": 0.05,
    }  # fmt: skip


def test_a_draft_that_was_edited_is_not_replaced(trace, tmp_path):
    path = tmp_path / "draft.yaml"
    path.write_text("# mine\n")
    refused = run(trace, "--write", path, "--gpus", "H100=4")
    assert refused.exit_code == 2
    assert "would be replaced; give another file, or --force" in " ".join(
        refused.stderr.replace("│", " ").split()
    )
    assert refused.stdout == ""
    assert path.read_text() == "# mine\n"
    assert run(trace, "--write", path, "--gpus", "H100=4", "--force").exit_code == 0
    assert "# mine" not in path.read_text()


def test_a_new_fleet_of_known_models_can_be_planned(tmp_path):
    trace, path = tmp_path / "trace.csv", tmp_path / "draft.yaml"
    names = ("Qwen2.5-7B-Instruct", "Llama-3.1-8B-Instruct")
    trace.write_text(HEAD + "".join(f"{n / 2},{names[n % 2]},100,20\n" for n in range(600)))
    found = run(trace, "--write", path, "--gpus", "H100=2")
    assert "sizes are not measured" not in found.output
    assert len(read_fleet(path).problem.models) == 2


def test_demand_in_windows_and_whether_to_trust_it(trace, tmp_path):
    path = tmp_path / "draft.yaml"
    found = run(trace, "--write", path, "--gpus", "H100=4", "--windows", "3")
    assert found.exit_code == 0, found.output
    assert "whether windows come again is unknown" in found.stderr
    data = yaml.safe_load(path.read_text())
    assert data["windows"] == ["part-1", "part-2", "part-3"]
    assert data["models"][0]["rate"] == pytest.approx([1.333, 1.333, 1.342], rel=0.01)
    hours = run(trace, "--write", path, "--gpus", "H100=4", "--windows", "day", "--force")
    assert "needs times of day" in str(hours.exception)


def test_a_fleet_with_measured_windows_plans_and_says_what_it_cannot_trust(tmp_path):
    times = np.arange(4 * 86400, step=240.0)
    day = 0.5 - 0.5 * np.cos(times * 2 * np.pi / 86400)
    drawn = np.random.default_rng(3).random(len(times))
    walk = np.abs(np.cumsum(np.random.default_rng(4).normal(size=len(times)))) / 60
    trace, fleet = tmp_path / "trace.csv", tmp_path / "fleet.yaml"
    rows = [
        f"{1_700_438_400 + time:.0f},{name},100,20\n"
        for number, time in enumerate(times)
        for name, chance in (("chat", day[number]), ("code", walk[number]))
        if drawn[number] < chance
    ]
    trace.write_text(HEAD + "".join(rows))
    fleet.write_text(FLEET)
    found = run(trace, "--fleet", fleet, "--update", "--windows", "day")
    assert found.exit_code == 0, found.output
    models = yaml.safe_load(fleet.read_text())["models"]
    assert models[0]["predictability"] > 0.2
    assert models[1]["predictability"] <= 0.0
    planned = CliRunner().invoke(app, ["plan", str(fleet)])
    assert planned.exit_code == 0, planned.output
    assert "code: windows are not worth trusting" in planned.stderr.replace("'", "")
    assert "the worst of 24 windows" in planned.stdout


def test_files_for_the_eye(trace, tmp_path):
    page, plot = tmp_path / "page.html", tmp_path / "plot.svg"
    found = run(trace, "--page", page, "--plot", plot)
    assert found.exit_code == 0, found.output
    assert "Which models peak together" in page.read_text()
    assert plot.read_bytes().startswith(b"<?xml")


def test_without_matplotlib_a_plot_says_how_to_get_it(trace, tmp_path, monkeypatch):
    monkeypatch.setattr("colocate.outputs.page.figure.find_spec", lambda name: None)
    found = run(trace, "--plot", tmp_path / "plot.svg")
    told = "a plot needs matplotlib: pip install matplotlib, or '.[plot]' from a clone"
    assert str(found.exception) == told
    assert run(trace).exit_code == 0


def test_prometheus_is_asked(fleet):
    store = Store()
    vllm(store, model="chat")
    with serving(store) as (url, _):
        found = run(url, "--fleet", fleet, "--json")
    data = json.loads(found.stdout)
    assert data["kind"] == "prometheus"
    assert data["models"][0]["basis"] == "completed and queue"
    assert "the clock of the server is" in found.stderr


def test_a_mapping_of_a_model_that_the_server_has_not_is_told():
    store = Store()
    vllm(store, model="chat")
    with serving(store) as (url, _):
        found = run(url, "--map", "foo=bar")
    assert found.exit_code == 0, found.output
    assert "no model 'foo' in the source, so --map changes nothing there; it has 'chat'" in (
        " ".join(found.stderr.split())
    )


def test_labels_that_match_nothing_are_doubted_first():
    store = Store()
    vllm(store, model="chat")
    with serving(store) as (url, _):
        found = run(url, "--where", 'cluster="a"')
    assert 'with cluster="a" in the last 3600 s' in str(found.exception)
    assert "check the labels of --where first, then that Prometheus" in str(found.exception)


def test_a_password_in_an_address_is_shown_nowhere(tmp_path, monkeypatch):
    store = Store()
    vllm(store, model="chat")
    page, draft = tmp_path / "page.html", tmp_path / "draft.yaml"
    with serving(store) as (url, _):
        secret = url.replace("//", "//me:s3cr3t@")
        monkeypatch.setattr("sys.argv", ["colocate", "observe", secret])
        found = run(secret, "--page", page, "--write", draft, "--gpus", "H100=1")
    assert found.exit_code == 0, found.output
    for text in (found.output, page.read_text(), draft.read_text()):
        assert "s3cr3t" not in text
    assert "127.0.0.1" in page.read_text()


def test_planned_beside_measured():
    fleet = parse_fleet(FLEET)
    (chat,) = against_plan(fleet, {"chat": ["n-0"], "code": ["n-1"]}, observation(chat=9.0))
    assert chat.model == "chat"
    assert chat.rate.planned == pytest.approx(6.0)
    assert chat.rate.off == pytest.approx(0.5)
    assert chat.rate.differs
    assert 0.0 < chat.tpot.planned < 0.1
    assert 0.0 < chat.cache.planned < 1.0
    assert chat.tpot.measured is None
    assert not chat.tpot.differs


def test_a_figure_that_is_hardly_off_has_no_sign():
    fleet = parse_fleet(FLEET)
    (chat,) = against_plan(fleet, {"chat": ["n-0"], "code": ["n-1"]}, observation(chat=5.99))
    assert planned_rows(chat)[0][4] == "0%"


def test_a_plan_file_is_set_beside_it(fleet, tmp_path):
    plan = tmp_path / "plan.json"
    done = CliRunner().invoke(app, ["plan", str(fleet), "--save", str(plan), "--time-limit", "1"])
    assert done.exit_code == 0, done.output
    store = Store()
    vllm(store, model="chat", each=90.0)
    with serving(store) as (url, _):
        found = run(url, "--plan", plan)
    assert "TPOT" in found.stdout
    assert "above plan" in found.stdout
    assert "as planned" in found.stdout


def test_a_plan_of_another_fleet_is_refused(fleet, tmp_path):
    plan, trace = tmp_path / "plan.json", tmp_path / "other.csv"
    made = ["plan", str(fleet), "--save", str(plan), "--time-limit", "1"]
    assert CliRunner().invoke(app, made).exit_code == 0
    trace.write_text(HEAD + "0,mail,100,20\n1,mail,100,20\n9,mail,100,20\n")
    found = run(trace, "--plan", plan)
    assert found.exit_code != 0
    assert found.stdout == ""
    assert str(found.exception) == (
        f"{plan}: is of another fleet: none of its models, such as 'chat', was measured; give a "
        "plan of the models that were, such as 'mail', or name them with --map NAME=MODEL"
    )
    assert "requests/s" in run(trace, "--plan", plan, "--map", "mail=chat").stdout


def test_a_fleet_file_in_place_of_a_plan_brings_advice_that_observe_can_take(trace, fleet):
    found = run(trace, "--plan", fleet)
    assert "is a fleet file" in str(found.exception)
    assert "`colocate plan` makes one of it" in str(found.exception)
    assert "--placement" not in str(found.exception)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nothing.csv"], 3, "nothing.csv: cannot be read"),
        (["{trace}", "--update"], 2, "--update needs --fleet"),
        (["{trace}", "--write", "x.yaml"], 2, "go together"),
        (["nothing.csv", "--write", "x.yaml", "--gpus", "H100"], 2, "H100, must be KIND=NUMBER"),
        (["nothing.csv", "--write", "x.yaml", "--gpus", "H100=no"], 2, "must be KIND=NUMBER, such"),
        (["nothing.csv", "--write", "x.yaml", "--gpus", "H100=0"], 2, "a number from 1 to 20,000"),
        (["nothing.csv", "--write", "x.yaml", "--gpus", "H1OO=8"], 2, "is not known"),
        (["{trace}", "--windows", "2"], 2, "--windows is about --update or --write"),
        (["{trace}", "--window", "1h"], 2, "a trace is read whole"),
        (["{trace}", "--where", "a"], 2, "are about a Prometheus server"),
        (["{trace}", "--map", "a"], 2, "--map a, must be NAME=MODEL"),
        (
            ["{trace}", "--map", "caht=code"],
            2,
            "no model 'caht' in the source; did you mean 'chat'",
        ),
        (["{trace}", "--map", "x=code"], 2, "no model 'x' in the source; it has 'chat', 'mail'"),
        (["{trace}", "--force"], 2, "--force is about --write"),
        (["{trace}", "--plot", "x.pdf"], 2, "must end in"),
        (["{trace}", "--page", "{trace}"], 2, "is the input"),
        (["http://127.0.0.1:9"], 1, "no connection"),
        (["http://127.0.0.1:9/traffic/stats"], 1, "no connection"),
        (["http://127.0.0.1:9", "--window", "1y"], 2, "a time like 90s"),
        (["http://127.0.0.1:9", "--engine", "vlm=1"], 2, "did you mean 'vllm'"),
        (["http://127.0.0.1:9", "--step", "9999"], 2, "step=9999.0, must be from 1 to 300 s"),
        (["http://", "--json"], 2, "an address like http://localhost:9090"),
    ],
)
def test_mistakes_are_one_sentence(arguments, code, message, trace, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    found, said = ended([each.format(trace=trace) for each in arguments], monkeypatch, capsys)
    assert found == code
    assert message in " ".join(said.split())
    assert "Traceback" not in said


def test_names_from_outside_do_no_harm(tmp_path):
    path = tmp_path / "trace.csv"
    names = [name.replace('"', '""').replace("\n", " ").replace("\r", " ") for name in HOSTILE]
    rows = [f'{n},"{name}",1,1\n' for n in range(60) for name in names]
    path.write_text(HEAD + "".join(rows), newline="")
    page, draft = tmp_path / "page.html", tmp_path / "draft.yaml"
    found = run(path, "--page", page, "--write", draft, "--gpus", "H100=1")
    assert found.exit_code == 0, found.output
    assert "\x1b" not in found.output
    HTMLParser().feed(page.read_text())
    assert "<script" not in page.read_text()
    assert yaml.safe_load(draft.read_text())["models"][0]["rate"] > 0


@pytest.mark.parametrize("remark", Remark)
def test_every_remark_is_a_sentence(remark):
    line = note_line(SourceNote(remark, ("a", "b"), 2.5, "x, y"))
    assert line
    assert "{" not in line


@pytest.mark.parametrize(
    ("estimate", "shown"),
    [
        (None, "-"),
        (Estimate(2.0, None), "2"),
        (Estimate(2.0, 0.123), "2.00 ± 0.12"),
        (Estimate(1234.5, 200.0), "1,234 ± 200"),
        (Estimate(0.0, 0.0), "0.000 ± 0.000"),
        (Estimate(1200.0, None), "1,200"),
        (Estimate(999.7, None), "1,000"),
        (Estimate(0.000012, None), "0.000012"),
        (Estimate(30.0, 1e-15), "30.00 ± 0.00"),
        (Estimate(100.0, 3e-9), "100.0 ± 0.0"),
        (Estimate(1e-17, 1e-17), "0.000 ± 0.000"),
        (Estimate(-1e-9, 0.002), "0.0000 ± 0.0020"),
    ],
)
def test_figures_have_the_digits_that_are_known(estimate, shown):
    assert shown_estimate(estimate) == shown


def test_large_figures_have_no_exponents(tmp_path):
    trace, page = tmp_path / "trace.csv", tmp_path / "page.html"
    trace.write_text(HEAD + "".join(f"{n // 1500},chat,12000,2000\n" for n in range(4500)))
    found = run(trace, "--page", page)
    assert "12,000" in found.stdout
    assert "2,000" in found.stdout
    for text in (found.stdout, page.read_text()):
        assert not re.search(r"\de\+\d", text)
