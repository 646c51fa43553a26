from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from colocate import read_fleet, solve
from colocate.cli.exit_codes import BAD_INPUT, USAGE
from colocate.cli.main import app, main
from colocate.outputs.plan.json_form import plan_json
from colocate.solver.plan import Plan, Status

EXAMPLE = Path(__file__).parents[2] / "examples" / "fleet.yaml"
CONFIG = Path(__file__).parents[1] / "data" / "configs" / "Llama-3.1-8B"


def test_nothing_found_where_nothing_is_proven_is_5(monkeypatch):
    def out_of_time(problem, **options):
        return Plan(problem, Status.UNKNOWN, reason="out of time")

    monkeypatch.setattr("colocate.solver.solve.solve", out_of_time)
    done = CliRunner().invoke(app, ["plan", str(EXAMPLE), "--no-remedies"])
    assert (done.exit_code, done.stdout) == (5, "")
    assert "out of time" in done.stderr


BAD_OPTIONS = [
    "plan FLEET --time-limit 0",
    "plan FLEET --strategy nope",
    "plan FLEET --workers 0",
    "plan FLEET --plot plot.txt",
    "check PLAN --time-limit 0",
    "predict PLAN --sharing nope",
    "simulate PLAN --sharing nope",
    "simulate PLAN --minutes 0",
    "simulate PLAN --seeds 0",
    "simulate PLAN --map a=b",
    "simulate PLAN --trace TRACE --demand day",
    "explain PLAN --time-limit 0",
    "capacity FLEET --pressure -1",
    "capacity FLEET --score-of nope",
    "capacity FLEET --pressure 1 --price H100",
    "capacity FLEET --pressure 1 --price nope=2",
    "capacity FLEET --pressure 1 --most 100000",
    "emit PLAN --to nope",
    "emit PLAN --to vllm --base-port 0",
    "emit PLAN --to vllm --base-port 65535",
    "emit PLAN --to vllm --host=-x",
    "emit PLAN --to vllm --node nope",
    "emit PLAN --to vllm --host a;b",
    "emit PLAN --to vllm --address nope=alpha",
    "emit PLAN --to vllm --address 1.2.3.4:80",
    "emit PLAN --to vllm --gateway-port 0",
    "bench nope",
    "bench adrs --strategy nope",
    "size CONFIG --dtype nope",
    "size CONFIG --kv-dtype nope",
    "calibrate",
    "calibrate nowhere",
    "calibrate http://127.0.0.1:1 --seconds 0",
    "calibrate http://127.0.0.1:1 --metrics MISSING",
    "calibrate --metrics MISSING --metrics http://127.0.0.1:1",
    "calibrate --prometheus nowhere",
    "calibrate --prometheus http://127.0.0.1:1 --window 1",
    "score PROGRAM --suite nope",
    "score PROGRAM --suite mixed",
    "score PROGRAM --allow nope",
    "evaluator --for nope --out NEW",
    "evaluator --for gepa --out NEW --task nope",
    "observe http://127.0.0.1:1 --window 1",
    "watch FLEET --prometheus http://127.0.0.1:1 --state NEW",
    "watch FLEET --prometheus http://127.0.0.1:1 --state NEW --from PLAN --run '' --rounds 1",
    "watch FLEET --prometheus http://127.0.0.1:1 --state NEW --from PLAN --window 1",
    "watch FLEET --prometheus nowhere --state NEW --from PLAN --rounds 1",
    "watch FLEET --prometheus http://127.0.0.1:1 --state NEW --from PLAN --listen 9477",
    "watch FLEET --prometheus http://127.0.0.1:1 --state NEW --from PLAN --commitment 60",
    "lab init --lab NEW --suite nope",
    "lab init --lab NEW --islands 9",
    "lab run --lab NEW --proposer nope",
    "lab run --lab NEW --proposer openai",
    "lab run --lab NEW --proposer openai --base-url nowhere --model m",
    "lab show --lab NEW -1",
    "lab replay --lab NEW --workers 0",
]
BAD_FILES = [
    "plan MISSING",
    "plan EMPTY",
    "plan PLAN",
    "check MISSING",
    "check EMPTY",
    "check FLEET",
    "predict MISSING",
    "predict EMPTY",
    "predict FLEET",
    "predict PLAN",
    "predict FLEET --placement MISSING",
    "predict FLEET --placement EMPTY",
    "simulate MISSING",
    "simulate EMPTY",
    "simulate FLEET",
    "simulate PLAN",
    "simulate FLEET --placement MISSING",
    "replan MISSING --from PLAN",
    "replan FLEET --from MISSING",
    "diff MISSING PLAN",
    "diff PLAN EMPTY",
    "explain MISSING",
    "explain EMPTY",
    "explain FLEET",
    "capacity MISSING --pressure 1",
    "capacity EMPTY --pressure 1",
    "emit MISSING --to vllm",
    "emit EMPTY --to vllm",
    "emit FLEET --to vllm",
    "size MISSING",
    "size FOLDER",
    "discover MISSING",
    "discover FOLDER",
    "footprint MISSING",
    "footprint FOLDER",
    "calibrate --metrics MISSING",
    "calibrate --metrics EMPTY",
    "calibrate --metrics FOLDER",
    "calibrate --metrics FLEET",
    "observe MISSING",
    "observe EMPTY",
    "board --out NEW --names MISSING",
    "score MISSING",
    "score FOLDER",
    "lab init --lab NEW --start MISSING",
    "lab init --lab NEW --start EMPTY",
]
WITHOUT_FILE_OR_CHOICE = {"strategies", "schema", "models", "lab status", "lab export"}
"""Lists, and commands that take a lab or a new folder and nothing else."""


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """What the words in capitals stand for."""
    folder = tmp_path_factory.mktemp("places")
    fleet = read_fleet(EXAMPLE)
    (folder / "plan.json").write_text(plan_json(solve(fleet.problem, gap=1.0), fleet))
    (folder / "empty").write_text("\n")
    (folder / "folder").mkdir()
    (folder / "program.py").write_text("def compute_model_placement(gpu_num, models):\n    ...\n")
    names = {"PLAN": "plan.json", "EMPTY": "empty", "FOLDER": "folder", "PROGRAM": "program.py"}
    names |= {"MISSING": "missing", "NEW": "new"}
    return {
        "FLEET": str(EXAMPLE),
        "CONFIG": str(CONFIG),
        **{word: str(folder / name) for word, name in names.items()},
    }


def ended(command, places, monkeypatch, capsys):
    arguments = [places.get(word, word) for word in command.split()]
    monkeypatch.setattr("sys.argv", ["colocate", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    printed = capsys.readouterr()
    assert printed.out == ""
    return end.value.code, printed.err


@pytest.mark.parametrize("command", BAD_OPTIONS)
def test_a_bad_value_of_an_option_is_2(command, places, monkeypatch, capsys):
    code, said = ended(command, places, monkeypatch, capsys)
    assert (code, bool(said)) == (USAGE, True), said


@pytest.mark.parametrize("command", BAD_FILES)
def test_a_bad_file_is_3_and_is_named(command, places, monkeypatch, capsys):
    code, said = ended(command, places, monkeypatch, capsys)
    assert code == BAD_INPUT, said
    assert any(place in said for place in places.values())
    assert ("EMPTY" not in command) or ("is empty" in said) or ("lab" in command)


def test_all_commands_are_held_to_it():
    def names(group, before=""):
        for name, command in group.commands.items():
            if hasattr(command, "commands"):
                yield from names(command, f"{before}{name} ")
            else:
                yield f"{before}{name}"

    every = set(names(typer.main.get_command(app)))
    tried = [*BAD_OPTIONS, *BAD_FILES]
    held = {name for name in every if any(f"{text} ".startswith(f"{name} ") for text in tried)}
    assert every - held == WITHOUT_FILE_OR_CHOICE
