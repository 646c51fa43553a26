import json
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from colocate.cli.main import app

FLEET = """
gpus: [{node: n, kind: H200, count: 2}]
models:
  - {name: chat, size_gb: 16, rate: 6, slo: 5, prompt_tokens: 512, output_tokens: 64,
     kv_bytes_per_token: 131072, tpot_slo: 0.012, ttft_slo: 1}
  - {name: code, size_gb: 16, rate: 6, slo: 5, prompt_tokens: 512, output_tokens: 64,
     kv_bytes_per_token: 131072}
  - {name: embedder, size_gb: 2, rate: 9, slo: 5, prompt_tokens: 300, output_tokens: 0,
     kv_bytes_per_token: 0}
"""
TRACE = "arrival_s,model,prompt_tokens,output_tokens\n0.5,chat,100,20\n2,other,100,20\n9,code,9,9\n"


def run(*arguments):
    return CliRunner().invoke(app, ["simulate", *map(str, arguments)])


@pytest.fixture
def fleet(tmp_path):
    path = tmp_path / "fleet.yaml"
    path.write_text(FLEET)
    return path


@pytest.fixture
def apart(tmp_path):
    path = tmp_path / "apart.yaml"
    path.write_text("chat: n-0\ncode: [n-1]\nembedder: n-1\n")
    return path


@pytest.fixture
def plan(fleet, tmp_path):
    path = tmp_path / "plan.json"
    made = ["plan", str(fleet), "--levels", "1", "--save", str(path)]
    assert CliRunner().invoke(app, made).exit_code == 0
    return path


@pytest.fixture
def crowded(plan, tmp_path):
    data = json.loads(plan.read_text())
    data["placement"] = {"chat": ["n-0"], "code": ["n-0"], "embedder": ["n-0"]}
    path = tmp_path / "crowded.json"
    path.write_text(json.dumps(data))
    return path


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text(TRACE)
    return path


def test_a_plan_file_is_enough(plan):
    done = run(plan, "--minutes", 1)
    assert (done.exit_code, done.stderr) == (0, "")
    first, second, *lines = done.stdout.splitlines()
    assert " requests in 60 seconds: " in first
    assert second == "1 model kept its targets; 2 without a target"
    heads = [line.split() for line in lines if line.split()[:1] in (["model"], ["GPU"])]
    assert heads[0][:4] == ["model", "requests", "TTFT", "TTFT"]
    assert heads[1][:3] == ["model", "GPUs", "goodput"]
    assert heads[2][:2] == ["GPU", "busy"]
    assert all(len(line) <= 100 for line in lines if line.startswith(" "))
    assert "the closed form of `colocate predict`" in done.stdout
    assert run(plan, "--minutes", 1).stdout == done.stdout


def test_json_has_everything(fleet, apart):
    done = run(fleet, "--placement", apart, "--minutes", 1, "--json")
    data = json.loads(done.stdout)
    assert data["seconds"] == 60
    assert data["complete"] is True
    assert data["seeds"] == [0]
    assert data["sharing"] == "slices"
    assert data["comparisons"] == []
    assert "plus_minus" not in data
    chat, _, embedder = data["models"]
    for name in ("ttft", "tpot", "end_to_end"):
        assert chat[name].keys() == {"mean", "p50", "p95", "p99", "max"}
        assert sum(count for _, count in chat["histograms"][name]) > 0
    assert {"arrived", "finished", "unfinished", "refused", "preemptions", "attainment", "goodput",
            "busy", "in_flight", "queue", "cache_mean", "cache_highest"} <= chat.keys()  # fmt: skip
    assert chat["arrived"] == chat["finished"] + chat["unfinished"] + chat["refused"]
    assert chat["gpus"] == ["n-0"]
    assert chat["target"]["tpot_slo"] == 0.012
    assert chat["predicted"]["tpot"] == pytest.approx(chat["tpot"]["mean"], rel=0.3)
    assert embedder["predicted"]["tpot"] is None
    assert embedder["target"]["tpot_slo"] == "Infinity"
    gpu, _ = data["gpus"]
    lines = [gpu[name] for name in ("seconds", "busy_engines", "in_flight", "waiting", "cache_gb")]
    assert len({len(line) for line in lines}) == 1
    assert 0.0 < gpu["busy"] <= 1.0


def test_seeds_give_intervals_and_workers_change_nothing(plan):
    one, two = (
        run(plan, "--minutes", 1, "--seeds", 3, "--workers", n, "--json").stdout for n in (1, 3)
    )
    assert one == two
    data = json.loads(one)
    assert data["seeds"] == [0, 1, 2]
    assert data["plus_minus"]["goodput"] > 0.0
    assert data["models"][0]["plus_minus"]["tpot"]["p99"] > 0.0
    assert " ± " in run(plan, "--minutes", 1, "--seeds", 2).stdout


def test_a_worse_placement_is_told_and_an_equal_one_too(fleet, apart, crowded):
    done = run(fleet, "--placement", apart, "--minutes", 1, "--compare", crowded, "--json")
    (other,) = json.loads(done.stdout)["comparisons"]
    assert json.loads(done.stdout)["seeds"] == [0, 1, 2, 3, 4]
    assert other["placement"] == str(crowded)
    assert other["difference"]["verdict"] == "worse"
    assert other["models"][0]["misses"] == ["tpot"]
    shown = run(fleet, "--placement", apart, "--minutes", 1, "--compare", crowded).stdout
    assert "fewer requests a second than apart.yaml, which is more than chance" in shown
    same = run(crowded, "--minutes", 1, "--compare", crowded, "--seeds", 2).stdout
    assert "exactly as well as crowded.json" in same
    alone = run(fleet, "--placement", apart, "--minutes", 1, "--compare", crowded, "--seeds", 1)
    assert "one seed does not tell whether that is chance" in alone.stdout


def test_named_ways(fleet, plan):
    done = run(plan, "--minutes", 1, "--seeds", 2, "--compare", "greedy", "--json")
    assert [each["placement"] for each in json.loads(done.stdout)["comparisons"]] == ["greedy"]
    refused = run(plan, "--compare", "one-model-per-gpu")
    assert "needs 3 GPUs, one for each model, replica and shard; the fleet has 2" in str(
        refused.exception
    )


def test_a_trace_is_replayed_by_its_own_names(fleet, apart, trace):
    unknown = run(fleet, "--placement", apart, "--trace", trace)
    assert "trace.csv: line 3: model='other' is not in the fleet" in str(unknown.exception)
    options = ("--placement", apart, "--trace", trace, "--map", "other=chat")
    data = json.loads(run(fleet, *options, "--json").stdout)
    assert [model["arrived"] for model in data["models"]] == [2, 1, 0]
    assert data["seconds"] == 9
    assert "closed form" not in run(fleet, *options).stdout
    assert "not asked" in run(fleet, *options).stdout
    fast = json.loads(run(fleet, *options, "--start", 1, "--condense", 2, "--json").stdout)
    assert [model["arrived"] for model in fast["models"]] == [1, 1, 0]
    assert fast["seconds"] == 4
    seeds = run(fleet, *options, "--seeds", 2)
    assert "a trace that names its models is the same for every seed" in seeds.stderr


def test_options_reach_the_simulator(fleet, apart, crowded):
    def tpot(*options):
        found = json.loads(run(crowded, "--minutes", 2, "--json", *options).stdout)
        return found["models"][0]["tpot"]["mean"]

    usual = tpot()
    assert tpot("--sharing", "mps") < usual
    for options in (
        ("--prefill", "chunked", "--token-budget", 256),
        ("--demand", "bursts", "--variation", 2),
        ("--demand", "day"),
        ("--lengths", "log-normal"),
        ("--seed", 1),
    ):
        assert tpot(*options) != usual
    for options in (("--cache", "elastic"), ("--router", "random-two")):
        assert tpot(*options) > 0.0


def test_a_queue_that_grows_is_not_hidden_by_the_few_that_were_served(plan):
    told = run(plan, "--minutes", 0.5, "--prefill", "chunked", "--token-budget", 1).stdout
    first, second, *_ = told.splitlines()
    assert first.endswith("of them had no whole answer at the end")
    assert "%" not in first
    assert "of those judged kept their targets" in second
    assert "of requests in time" not in told
    assert "agrees with the replay" not in told


def test_few_requests_are_no_agreement_with_the_law(fleet, apart, tmp_path):
    path = tmp_path / "few.csv"
    path.write_text("arrival_s,model,prompt_tokens,output_tokens\n0,chat,10,5\n60,chat,10,5\n")
    assert "closed form" not in run(fleet, "--placement", apart, "--trace", path).stdout


def test_sleeping_models_are_told_and_may_wake(fleet, tmp_path):
    path = tmp_path / "some.yaml"
    path.write_text("chat: n-0\ncode: n-1\n")
    told = run(fleet, "--placement", path, "--minutes", 1).stdout
    assert "embedder: asleep, so it refused " in told
    assert "1 of 2 models kept their targets; 1 without a target; missed by:" in told


def test_why_a_sleeper_does_not_wake_is_told(fleet, tmp_path):
    path = tmp_path / "some.yaml"
    path.write_text("chat: n-0\ncode: n-1\n")
    asleep = (fleet, "--placement", path, "--minutes", 1, "--wake", 8)
    told = run(*asleep).stdout
    assert "embedder: asleep, and no GPU ever had room to wake it, so it refused " in told
    assert json.loads(run(*asleep, "--json").stdout)["models"][2]["woken"] == 0
    path.write_text("chat: n-0\n")
    told = run(*asleep).stdout
    assert "asleep; it woke " in told
    assert " requests while no GPU had room for it (" in told


def test_a_placement_may_be_that_of_a_plan(fleet, plan, tmp_path):
    options = ("--minutes", 1, "--json")
    (one, other) = (
        json.loads(run(*first, *options).stdout)["models"]
        for first in ((plan,), (fleet, "--placement", plan))
    )
    assert one == other
    data = json.loads(plan.read_text())
    data["placement"] = {}
    plan.write_text(json.dumps(data))
    done = run(fleet, "--placement", plan)
    assert str(done.exception) == f"{plan}: has no placement, must be a plan with one"


def test_requests_without_a_whole_answer_are_counted_and_not_judged(fleet, apart, tmp_path):
    path = tmp_path / "late.csv"
    rows = [f"{n},code,100,2\n" for n in range(50)]
    path.write_text("".join([TRACE.splitlines()[0], "\n", *rows, "49.9,chat,100,2000\n"]))
    options = (fleet, "--placement", apart, "--trace", path)
    first, second, *lines = run(*options).stdout.splitlines()
    assert first == "51 requests in 50 seconds: 1 of them had no whole answer at the end"
    assert second.startswith("100% of those judged kept their targets, 1.00 a second; shares leave")
    (chat,) = (line.split() for line in lines if line.startswith(" chat ") and "done" in line)
    assert chat[-3:] == ["-", "none", "done"]
    page = tmp_path / "page.html"
    run(*options, "--page", page)
    assert "1 of 51 requests had no whole answer at the end" in page.read_text()


def test_nothing_is_judged_where_nothing_was_answered(fleet, apart, tmp_path):
    path = tmp_path / "one.csv"
    path.write_text(f"{TRACE.splitlines()[0]}\n0,chat,100,2000\n0.1,chat,100,2000\n")
    page = tmp_path / "page.html"
    told = run(fleet, "--placement", apart, "--trace", path, "--page", page).stdout
    assert "so nothing can be judged" in told.splitlines()[0]
    assert "%" not in told.splitlines()[0]
    assert "so nothing can be judged" in page.read_text()


def test_names_of_placements_are_whole_on_a_usual_screen(plan, monkeypatch):
    monkeypatch.setenv("COLOCATE_COLUMNS", "80")
    told = run(plan, "--minutes", 1, "--compare", "lowest-pressure", "--seeds", 2).stdout
    (row,) = (line for line in told.splitlines() if line.startswith(" lowest-pressure "))
    assert len(row) <= 80


def test_a_wider_table_is_had_in_a_pipe_by_columns(plan, monkeypatch):
    assert "on a wider screen also: " in run(plan, "--minutes", 1).stdout
    monkeypatch.setenv("COLOCATE_COLUMNS", "250")
    told = run(plan, "--minutes", 1).stdout
    assert "on a wider screen also: " not in told
    assert "end to end p99" in told


def test_a_placement_file_is_compared_too(plan, apart, tmp_path):
    told = run(plan, "--minutes", 1, "--compare", apart).stdout
    assert f"{apart.name} " in told
    strange = tmp_path / "strange.yaml"
    strange.write_text("chat: nowhere\n")
    done = run(plan, "--minutes", 1, "--compare", strange)
    assert str(done.exception) == f"{strange}: model 'chat': is on 'nowhere', which is no GPU"


def test_the_page_is_written(plan, tmp_path):
    page = tmp_path / "page.html"
    done = run(plan, "--minutes", 1, "--page", page, "--compare", "greedy", "--seeds", 2)
    assert done.exit_code == 0
    text = page.read_text()
    assert f"wrote {page}" in done.stderr
    assert "<script" not in text
    for heading in ("Compared", "What users felt", "GPU by GPU", "Model by model"):
        assert f"<h2>{heading}</h2>" in text


def test_a_target_on_the_mean_that_holds_is_not_shown_as_missed(fleet, apart, tmp_path):
    options = ("--placement", apart, "--minutes", 1)
    chat = json.loads(run(fleet, *options, "--json").stdout)["models"][0]
    mean, high = chat["ttft"]["mean"], chat["ttft"]["p99"]
    assert high > 1.2 * mean
    page = tmp_path / "page.html"
    for target, missed in (((mean + high) / 2, False), (mean * 0.9, True)):
        fleet.write_text(FLEET.replace("ttft_slo: 1", f"ttft_slo: {target}"))
        assert run(fleet, *options, "--page", page).exit_code == 0
        assert ("figure missed" in page.read_text()) == missed


def test_a_narrow_table_has_whole_headings(fleet, apart, monkeypatch):
    monkeypatch.setattr("colocate.outputs.simulation.table.fitting_width", lambda: 80)
    told = run(fleet, "--placement", apart, "--minutes", 0.5, "--seeds", 2).stdout
    heading = next(line for line in told.splitlines() if "goodput" in line)
    assert len(heading) <= 80
    assert heading.split()[-4:] == ["most", "cache", "preempted", "refused"]
    assert "on a wider screen also: GPUs, in flight, cache\n" in told


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--minutes", "0"), "minutes=0.0, must be a finite number > 0"),
        (("--minutes", "inf"), "minutes=inf, must be a finite number > 0"),
        (("--demand", "nope"), "'nope' is not one of"),
        (("--start", "5"), "--map, --start and --condense are about a --trace"),
        (("--variation", "2"), "--variation is about --demand bursts or day"),
        (("--demand", "bursts", "--variation", "0"), "variation=0.0, must be a finite number > 0"),
        (("--trace", "TRACE", "--demand", "day"), "are not about a --trace"),
        (("--trace", "TRACE", "--map", "other"), "--map other, must be NAME=MODEL"),
        (
            ("--trace", "TRACE", "--map", "other=cat"),
            "'other'='cat' is not known, did you mean 'chat'?",
        ),
        (("--trace", "TRACE", "--condense", "0"), "condense=0.0, must be a finite number > 0"),
        (("--trace", "-", "--seeds", "2"), "--trace - can be read once"),
        (("--compare", "nope.json"), "nope.json: cannot be read"),
        (("--compare", "nonsense"), "compare='nonsense', must be greedy, lowest-pressure"),
        (("--token-budget", 100), "--token-budget is about --prefill chunked"),
        (("--wake", "-1"), "Invalid value for '--wake'"),
    ],
)
def test_bad_options_are_one_sentence(plan, trace, options, message):
    done = run(plan, *(str(trace) if word == "TRACE" else word for word in options))
    assert done.exit_code != 0
    told = done.stderr + str(done.exception)
    assert message in " ".join(told.replace("│", " ").split())


def test_a_fleet_without_a_placement_brings_both_ways(fleet):
    told = str(run(fleet).exception)
    assert "is a fleet file, must be a plan; `colocate plan` makes one of it" in told


def test_plan_appends_a_replay(fleet, tmp_path):
    made = CliRunner().invoke(app, ["plan", str(fleet), "--levels", "1", "--simulate"])
    assert made.exit_code == 0
    assert "requests in 10 minutes: " in made.stdout
    path = tmp_path / "with_replay.json"
    told = ["plan", str(fleet), "--levels", "1", "--simulate", "--json"]
    path.write_text(CliRunner().invoke(app, told).stdout)
    data = json.loads(path.read_text())["simulation"]
    assert (data["seconds"], data["seeds"]) == (600, [0])
    assert CliRunner().invoke(app, ["check", str(path)]).exit_code == 0
    assert run(path, "--minutes", 1).exit_code == 0
    fleet.write_text(FLEET.replace("output_tokens: 0", "max_model_len: 9").replace(
        ", tpot_slo: 0.012, ttft_slo: 1", ""))  # fmt: skip
    unknown = CliRunner().invoke(app, ["plan", str(fleet), "--levels", "1", "--simulate"])
    assert unknown.exit_code == 0
    assert "note: not simulated, since latency is not known" in unknown.stderr


def interrupted(plan, seconds):
    command = [sys.executable, "-m", "colocate", "simulate", str(plan), "--minutes", "100000"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(seconds)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=120)
    return running.returncode, out, err


def test_ctrl_c_prints_what_was_simulated_so_far(plan):
    for seconds in (5, 20, 80):  # until kernels are there, on a busy machine too
        code, out, err = interrupted(plan, seconds)
        if code == 0:
            break
    assert code == 0, err
    assert "note: interrupted: this is what was simulated so far (a part of one seed, " in err
    assert "kept their targets" in out
    assert "Traceback" not in err


def test_a_replay_lasts_a_year_at_most(plan):
    done = run(plan, "--minutes", 1e9)
    assert "minutes=1000000000.0, must be at most 525,600, a year" in str(done.exception)


def test_ten_million_requests_are_announced(plan, monkeypatch):
    monkeypatch.setattr("colocate.cli.replay.MANY_REQUESTS", 1000.0)
    done = run(plan, "--minutes", 2)
    assert done.exit_code == 0
    assert "note: about 0 million requests to replay; Ctrl-C shows what" in done.stderr
    assert "note: about" not in run(plan, "--minutes", 0.1).stderr
