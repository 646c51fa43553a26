import json
import os
from pathlib import Path

import pytest

from colocate import InputError
from colocate.arena.run_folder import LARGEST, read_run
from colocate.arena.source.program_text import MOST_CHARACTERS
from colocate.arena.tasks.catalogue import tasks_by_entry_point
from tests.arena.tiny_contest import program

ONE, TWO, THREE = (program(f"x = {number}") for number in range(3))


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def record(source, iteration=0, time=0.0, score=None):
    """A program as OpenEvolve keeps it."""
    metrics = {} if score is None else {"combined_score": score}
    return {"code": source, "iteration_found": iteration, "timestamp": time, "metrics": metrics}


def names(folder):
    return [found.name for found in read_run(folder)[0]]


def test_generations_come_in_the_order_of_their_numbers_and_the_best_is_one_of_them(tmp_path):
    for number, source in [(10, THREE), (2, TWO), (0, ONE)]:
        write(tmp_path / f"gen_{number}" / "main.py", source)
    write(tmp_path / "gen_2" / "results" / "metrics.json", {"combined_score": 30.5, "public": {}})
    write(tmp_path / "gen_10" / "results" / "metrics.json", '{"combined_score": Na')
    write(tmp_path / "best" / "main.py", TWO)
    write(tmp_path / "gen_3" / "other.py", ONE)
    programs, faults = read_run(tmp_path)
    assert not faults
    assert [found.name for found in programs] == ["gen_0", "gen_2", "gen_10"]
    assert [found.claimed for found in programs] == [None, 30.5, None]
    assert [found.best for found in programs] == [False, True, False]
    assert programs[1].also == ("best/main.py",)
    assert programs[1].file == "gen_2/main.py"


def test_runs_of_several_dates_are_told_apart(tmp_path):
    write(tmp_path / "2026.11.02_080000" / "gen_0" / "main.py", TWO)
    write(tmp_path / "2026.11.01_070000_prism" / "gen_1" / "main.py", ONE)
    write(tmp_path / "2026.11.01_070000_prism" / "best" / "main.py", ONE)
    assert names(tmp_path) == ["2026.11.01_070000_prism/gen_1", "2026.11.02_080000/gen_0"]


def test_a_program_in_many_checkpoints_is_one(tmp_path):
    run = tmp_path / "openevolve_output"
    for checkpoint in (5, 10):
        home = run / "checkpoints" / f"checkpoint_{checkpoint}"
        write(home / "programs" / "aaaaaaaa-1111.json", record(ONE, 0, 100.5, 21.9))
        write(home / "programs" / "bbbbbbbb-2222.json", record(TWO, 4, 101.5, 25.0))
        write(home / "best_program.py", TWO)
        write(home / "metadata.json", {"best_program_id": "bbbbbbbb-2222"})
    write(home / "programs" / "cccccccc-3333.json", record(THREE, 4, 101.0))
    write(run / "best" / "best_program.py", TWO)
    programs, faults = read_run(run)
    assert not faults
    assert [found.name for found in programs] == [
        "iteration_0/aaaaaaaa",
        "iteration_4/cccccccc",
        "iteration_4/bbbbbbbb",
    ]
    assert [found.claimed for found in programs] == [21.9, None, 25.0]
    assert [found.best for found in programs] == [False, False, True]
    assert len(programs[2].also) == 4
    assert names(tmp_path)[0] == "openevolve_output/iteration_0/aaaaaaaa"


def test_other_frameworks_keep_their_programs_elsewhere(tmp_path):
    gepa, code, sky = tmp_path / "gepa", tmp_path / "code", tmp_path / "sky"
    write(gepa / "candidates.json", [{"current_candidate": ONE}, {"current_candidate": TWO}])
    write(gepa / "gepa_state.bin", b"\x80\x04.")
    write(code / "0" / "best_sol.py", ONE)
    write(code / "1" / "best_sol.py", TWO)
    write(code / "0" / "ckpt" / "ckpt_5.pkl", b"\x80\x04.")
    solution = {"solution": ONE, "iteration_found": 3, "metrics": {"combined_score": 1.5}}
    write(sky / "checkpoints" / "checkpoint_3" / "programs" / "x.json", solution)
    assert names(gepa) == ["candidate_0", "candidate_1"]
    assert names(code) == ["0/best_sol.py", "1/best_sol.py"]
    assert [(found.name, found.claimed) for found in read_run(sky)[0]] == [("iteration_3/x", 1.5)]


def test_a_folder_of_plain_programs_holds_those_that_define_the_function(tmp_path):
    write(tmp_path / "mine.py", ONE)
    write(tmp_path / "evaluate.py", "print('no program')")
    write(tmp_path / "notes.txt", ONE)
    assert names(tmp_path) == ["mine.py"]
    with pytest.raises(InputError, match="holds no program, must be the folder of a run: gen_"):
        read_run(tmp_path, "pack_circles")


@pytest.mark.parametrize("file", ["mine.py", "gen_0/main.py"])
def test_programs_of_another_task_are_told_with_its_name(tmp_path, file):
    write(tmp_path / file, "def place_models(gpus, models):\n    return {}")
    with pytest.raises(InputError) as refused:
        read_run(tmp_path, others=tasks_by_entry_point())
    told = "; those here define place_models: give --suite fleet-windows, fleet-copies or fleet-"
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ('{"code": "def f', "cannot be read as JSON, is it half-written?"),
        (b"\xff\xfe\x00", "cannot be read as JSON, is it half-written?"),
        ("[" * 100_000, "cannot be read as JSON, is it half-written?"),
        ("7" * 10_000, "cannot be read as JSON, is it half-written?"),
        ("", "cannot be read as JSON, is it half-written?"),
        ("[1]", "holds no program, must be one in code or solution"),
        ({"code": 7}, "holds no program, must be one in code or solution"),
        ({"code": "#" * (MOST_CHARACTERS + 1)}, "is too long, must be at most 1000000 characters"),
        ('{"code": "\\ud800"}', "is no text: 'utf-8' codec"),
        (b"[" + b" " * 20_000_001, "is too long, must be at most 20000000 bytes"),
    ],
)
def test_a_broken_record_stops_no_other(tmp_path, content, sentence):
    home = tmp_path / "checkpoints" / "checkpoint_1" / "programs"
    write(home / "a_broken.json", content)
    write(home / "whole.json", record(ONE))
    programs, (fault,) = read_run(tmp_path)
    assert [found.source for found in programs] == [ONE]
    assert sentence in str(fault)
    assert "a_broken.json" in str(fault)


def test_figures_of_a_record_may_be_anything(tmp_path):
    strange = [None, True, "7", [], {}, 10**400, -1, 1.5, LARGEST * 10]
    home = tmp_path / "checkpoints" / "checkpoint_1" / "programs"
    for number, value in enumerate(strange):
        text = record(program(f"y = {number}"), value, value, value)
        write(home / f"{number}.json", text)
    write(
        home / "nan.json",
        '{"code": "", "timestamp": NaN, "metrics": {"combined_score": -Infinity}}',
    )
    programs, faults = read_run(tmp_path)
    assert not faults
    assert len(programs) == len(strange) + 1
    assert {found.claimed for found in programs} == {None, -1, 1.5}


def test_candidates_that_are_no_program_do_not_stop_the_others(tmp_path):
    long = "#" * (MOST_CHARACTERS + 1)
    write(tmp_path / "candidates.json", [ONE, {"a": ONE, "b": TWO}, {"a": long}, 7, {"a": TWO}])
    programs, (fault,) = read_run(tmp_path)
    assert [found.name for found in programs] == ["candidate_0", "candidate_4"]
    assert "holds 3 candidates that are no program" in str(fault)


def test_links_pipes_and_closed_folders_are_left_alone(tmp_path):
    secret = write(tmp_path / "outside" / "secret.txt", "password")
    run = tmp_path / "run"
    write(run / "gen_0" / "main.py", ONE)
    for number in range(1, 6):
        (run / f"gen_{number}").mkdir()
    (run / "gen_1" / "main.py").symlink_to(secret)
    os.mkfifo(run / "gen_2" / "main.py")
    (run / "gen_3" / "main.py").symlink_to("main.py")
    (run / "gen_4" / "main.py").symlink_to("/dev/zero")
    (run / "gen_5" / "main.py").symlink_to(run / "gen_0" / "main.py")
    (run / "gen_5" / "loop").symlink_to(run)
    (run / "gen_6" / "main.py").mkdir(parents=True)
    programs, faults = read_run(run)
    assert [(found.name, found.also) for found in programs] == [("gen_0", ("gen_5/main.py",))]
    told = "\n".join(map(str, faults))
    assert len(faults) == 4
    assert "gen_1/main.py: leads out of the folder, must be a file in it" in told
    assert "gen_2/main.py: is no plain file" in told
    assert "password" not in told


def test_any_folder_within_a_run_can_be_given(tmp_path, monkeypatch):
    write(tmp_path / "gen_4" / "main.py", ONE)
    write(tmp_path / "checkpoints" / "checkpoint_1" / "programs" / "x.json", record(TWO, 2))
    monkeypatch.chdir(tmp_path)
    assert names(Path()) == ["iteration_2/x", "gen_4"]
    assert names(Path("gen_4")) == ["gen_4"]
    for place in ("checkpoints", "checkpoints/checkpoint_1", "checkpoints/checkpoint_1/programs"):
        assert names(Path(place)) == ["iteration_2/x"]


def test_names_are_shown_in_letters_that_move_no_cursor(tmp_path):
    write(tmp_path / "gen_\x1b[2J" / "main.py", ONE)
    assert names(tmp_path) == ["gen_\\x1b[2J"]
