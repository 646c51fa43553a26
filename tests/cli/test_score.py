import json

import pytest

from colocate.arena import seeds
from colocate.cli.lab import options
from tests.arena.tiny_contest import INITIAL
from tests.cli.test_commands import run

FIGURES = ["score", "ratio", "valid_cases", "cases", "failures", "walls", "seconds"]
LOSING = INITIAL.replace("return placement", "placement[0].clear()\n    return placement")


def written(path, text=INITIAL):
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def test_score_prints_a_line_for_public_and_hidden_cases_and_the_walls(tmp_path):
    done = run("score", written(tmp_path / "main.py"))
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    words = [line.split() for line in lines if line]
    adrs, hidden = (line for line in words if line[0] in ("adrs", "hidden"))
    assert adrs[:5] == ["adrs", "21.8916", adrs[2], "50", "of"]
    assert hidden[3:6] == ["25", "of", "25"]
    assert lines[-1].startswith("walls: ")
    assert lines[-1].endswith("seccomp, rlimits, process group (1 run)")


def test_score_as_json(tmp_path):
    done = run("score", written(tmp_path / "main.py"), "--json", "--workers", "1", "--runs", "2")
    data = json.loads(done.stdout)
    assert set(FIGURES) <= set(data)
    assert data["score"] == pytest.approx(21.8916, abs=5e-5)
    assert (data["valid_cases"], data["cases"], data["failures"]) == (50, 50, [])
    assert "seccomp" in data["walls"]
    assert (data["runs"], data["steady"]) == (2, True)
    assert 0 < data["seconds"] < 60
    assert (data["hidden"]["cases"], len(data["results"])) == (25, 50)


def test_failed_cases_are_told_together_by_their_reason(tmp_path):
    program = written(tmp_path / "main.py", LOSING)
    done = run("score", program, "--suite", "idle")
    assert done.returncode == 0
    assert done.stdout.count("missing model: ") == 1
    assert "50 cases: missing model: 'model_" in done.stdout
    assert "  idle-00, idle-01, idle-02 and 47 more\n" in done.stdout
    assert "25 cases: not run, as every public case failed\n  hidden-00, " in done.stdout
    assert ["idle", "0.0000", "0.000000", "0", "of", "50"] in [
        line.split()[:6] for line in done.stdout.splitlines()
    ]


def test_every_case_has_a_row_if_that_is_asked_for(tmp_path):
    program = written(tmp_path / "main.py", LOSING)
    rows = run("score", program, "--suite", "idle", "--cases").stdout.splitlines()
    assert sum(row.endswith("missing model") for row in rows) == 50
    assert sum(row.endswith("not run") for row in rows) == 25


def test_a_crash_comes_with_its_first_traceback_alone(tmp_path):
    crashing = "def compute_model_placement(gpu_num, models):\n    raise ValueError(gpu_num)\n"
    done = run("score", written(tmp_path / "main.py", crashing))
    assert "50 cases: crash: ValueError: " in done.stdout
    assert "25 cases: not run, as every public case failed" in done.stdout
    assert done.stdout.count("Traceback (most recent call last):") == 1
    assert 'File "main.py", line 2, in compute_model_placement' in done.stdout


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (
            "def f(:",
            """\
3 cases: crash: SyntaxError: invalid syntax (mine.py, line 1)
  adrs-00, adrs-01 and adrs-02
      File "mine.py", line 1
        def f(:
              ^
    SyntaxError: invalid syntax
72 cases: not run, as 3 cases failed before the function was called
  """,
        ),
        (
            "x = 1",
            """\
3 cases: crash: NameError: the program defines no function compute_model_placement
  adrs-00, adrs-01 and adrs-02
72 cases: not run, as 3 cases failed before the function was called
  """,
        ),
    ],
)
def test_a_program_that_does_not_load_sees_its_own_name_and_frames(tmp_path, source, told):
    done = run("score", written(tmp_path / "mine.py", source))
    assert told in done.stdout
    assert "72 cases: not run, as 3 cases failed before the function was called\n" in done.stdout
    assert "answer.py" not in done.stdout
    assert "main.py" not in done.stdout


def test_programs_of_a_folder_are_called_by_their_files(tmp_path):
    written(tmp_path / "first.py", "def compute_model_placement(:")
    done = run("score", tmp_path)
    assert "first.py: adrs-00: crash: SyntaxError: invalid syntax (first.py, line 1)" in done.stdout


def test_a_folder_is_judged_as_a_leaderboard(tmp_path):
    written(tmp_path / "gen_1" / "main.py")
    written(tmp_path / "gen_2" / "main.py", LOSING)
    data = json.loads(run("score", tmp_path, "--json").stdout)
    assert [row["program"] for row in data["programs"]] == ["gen_1", "gen_2"]
    assert [row["runs"] for row in data["programs"]] == [3, 1]
    assert all(set(FIGURES) <= set(row) for row in data["programs"])


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        (["none.py"], 3, "none.py: no such file\n"),
        (["binary.py"], 3, "binary.py: cannot be read as a program: 'utf-8' codec can't decode"),
        (
            ["empty"],
            3,
            "empty: holds no program, must be the folder of a run: gen_*/main.py (ShinkaEvolve)",
        ),
        (["main.py", "--suite", "adr"], 2, "task='adr' is not known, did you mean 'adrs'?"),
        (["main.py", "--suite", "mixed"], 2, "suite='mixed' has GPUs that do not have 80 GB"),
        (["main.py", "--allow", "colocate"], 2, "allow='colocate', must be a package without"),
        (["main.py", "--allow", "nothing"], 2, "allow='nothing', must be an installed package"),
        (["main.py", "--time-limit", "inf"], 2, "Invalid value for '--time-limit'"),
        (["main.py", "--runs", "0"], 2, "Invalid value for '--runs'"),
        (
            ["main.py", "--public", "--hidden-seed", "7"],
            2,
            "Invalid value: --hidden-seed makes hidden cases, and --public asks none",
        ),
    ],
)
def test_bad_input_is_told_in_a_sentence(tmp_path, options, code, sentence):
    written(tmp_path / "main.py")
    (tmp_path / "binary.py").write_bytes(b"\x7fELF\xff\xfe")
    (tmp_path / "empty").mkdir()
    done = run("score", *options, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_one_program_that_cannot_be_read_does_not_stop_the_others(tmp_path):
    written(tmp_path / "gen_0" / "main.py")
    (tmp_path / "gen_1").mkdir()
    (tmp_path / "gen_1" / "main.py").write_bytes(b"\xff\xfe\x00")
    done = run("score", tmp_path)
    assert done.returncode == 0
    assert "not judged: " in done.stderr
    assert "gen_1" in done.stderr
    assert "gen_0" in done.stdout


def test_limits_without_end_are_refused(tmp_path):
    done = run("score", written(tmp_path / "main.py"), "--time-limit", "1e9")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_the_table_shows_what_ranks_and_what_the_run_claims_and_json_goes_to_a_file(tmp_path):
    (tmp_path / "run").mkdir()
    written(tmp_path / "run" / "gen_1" / "main.py")
    written(tmp_path / "run" / "gen_2" / "main.py", LOSING)
    metrics = tmp_path / "run" / "gen_2" / "results" / "metrics.json"
    written(metrics, '{"combined_score": 30.52}')
    done = run("score", tmp_path / "run", "--save", tmp_path / "out.json", "--suite", "idle")
    assert done.returncode == 0
    heading, first, second = (
        line.split() for line in done.stdout.splitlines()[:4] if "─" not in line
    )
    assert heading[:4] == ["program", "fitness", "score", "claimed"]
    assert (first[1], second[1]) == ("gen_1", "gen_2")
    assert (second[2], second[4]) == ("0.000000", "30.5200")
    rows = json.loads((tmp_path / "out.json").read_text())["programs"]
    assert [row["claimed"] for row in rows] == [None, 30.52]
    assert [row["fitness"] for row in rows] == [pytest.approx(float(first[2]), abs=1e-6), 0]
    assert "out.json" in done.stderr


def test_fresh_hidden_cases_none_and_a_limit_for_all(tmp_path):
    program = written(tmp_path / "main.py")
    usual, fresh, again = (
        json.loads(run("score", program, "--json", *options).stdout)
        for options in ((), ("--hidden-seed", "7"), ("--hidden-seed", "7"))
    )
    assert fresh["digest"] == again["digest"] != usual["digest"]
    assert fresh["hidden"]["valid_cases"] == 25
    assert fresh["score"] == usual["score"]
    public = json.loads(run("score", program, "--json", "--public").stdout)
    assert public["hidden"]["cases"] == 0
    slow = written(tmp_path / "slow.py", f"import time; time.sleep(0.2)\n{INITIAL}")
    done = run("score", slow, "--total-time", "0.9", "--workers", "1")
    assert "not run, as the cases before it took the 0.9 s that all may take" in done.stdout
    done = run("score", program, "--hidden-seed", "42")
    assert (done.returncode, "seed=42" in done.stderr) == (2, True)


def test_options_and_the_referee_take_the_same_seeds():
    assert options.MOST_SEED == seeds.MOST_SEED


def test_the_figure_that_ranks_is_in_the_page_and_in_json(tmp_path):
    program = written(tmp_path / "main.py")
    shown = run("score", program, "--suite", "idle", "--save", tmp_path / "found.json").stdout
    data = json.loads((tmp_path / "found.json").read_text())
    assert data["fitness"] == min(data["ratio"], data["hidden"]["ratio"])
    assert f"fitness {data['fitness']:.6f}: the lower ratio, which ranks programs" in shown


def test_a_package_that_a_program_may_not_import_leads_to_the_option(tmp_path):
    program = written(tmp_path / "main.py", f"import pandas\n{INITIAL}")
    lines = run("score", program, "--suite", "idle").stdout.splitlines()
    causes = [line for line in lines if " cases: " in line]
    assert causes[0] == "3 cases: crash: ModuleNotFoundError: No module named 'pandas'"
    assert "72 cases: not run" in causes[1]
    assert any("; --allow pandas lets them import pandas" in line for line in lines)


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        ('{0: "banana"}', "dict of str"),
        ("{0: 7}", "dict of int"),
        ("{0: [7]}", "dict of list of int"),
    ],
)
def test_an_answer_that_is_no_placement_is_no_crash(tmp_path, returned, told):
    source = f"def compute_model_placement(gpu_num, models):\n    return {returned}\n"
    shown = run("score", written(tmp_path / "main.py", source), "--suite", "idle").stdout
    expected = "must return a dict of GPUs to models"
    assert f"no answer: it returned {told}, {expected}" in " ".join(shown.split())
    assert "crash" not in shown


def test_a_folder_that_is_not_there_leads_to_what_may_be_given(tmp_path):
    done = run("score", written(tmp_path / "main.py"), "--task", "./examples/circle")
    assert done.returncode == 2
    told = " ".join(done.stderr.split())
    assert "task='./examples/circle' is not known" in told
    assert told.endswith("or a folder with task.toml")
