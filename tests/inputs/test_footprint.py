import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colocate.errors import InputError
from colocate.inputs.fleet import read_fleet
from colocate.inputs.fleet_edit import with_fields
from colocate.inputs.footprint import start_log
from colocate.inputs.footprint.footprint import footprint_of
from colocate.inputs.footprint.start_log import FoundFacts, read_start_log
from colocate.inputs.footprint.updates import differences, model_of
from colocate.inputs.spec import ModelSpec
from colocate.inputs.yaml_text import parse_yaml

LOGS = Path(__file__).parents[1] / "data" / "start_logs"
CONFIGS = Path(__file__).parents[1] / "data" / "configs"
GIB = 2**30 / 1e9
CONTEXT = 0.5


def read(name, gpu_gib=None):
    return footprint_of(read_start_log(LOGS / name), gpu_gib)


@pytest.mark.parametrize(
    ("name", "model", "shards", "weights", "overhead", "per_token", "tokens"),
    [
        ("vllm-0.6.6.log", "meta-llama/Llama-3.1-8B-Instruct", 1, 14.99, 1.61, 131072, 449984),
        ("vllm-0.8.5.log", "qwen", 1, 14.2487, None, 57344, 938304),
        ("vllm-0.10.2-tp2.log", "llama-70b", 2, 33.88, 5.39, 163840, 209712),
        ("vllm-0.11.0-debug.log", "Qwen/Qwen3-0.6B", 1, 1.1201, 5.79, 114688, 603392),
        ("vllm-0.27.0.log", "chat", 1, 14.99, 15.26 - 14.99 + 1.44 - 0.01, 131072, 460496),
        ("vllm-0.27.0-fixed-cache.log", "chat", 1, 14.99, None, 131072, 91584),
        ("sglang-0.4.4-tp2.log", "llama-70b", 2, 66.0, 1.9, 163840, 13107),
        ("sglang-0.5.5.log", "Qwen/Qwen2.5-7B-Instruct", 1, 14.4, 1.08, 57344, 960430),
        ("sglang-0.5.5-latent.log", "lite", 2, 14.68, 1.83, 31104, 1000000),
        ("sglang-0.5.18-windowed.log", "openai/gpt-oss-20b", 1, 13.5, None, None, 375360),
    ],
)
def test_what_real_formats_say(name, model, shards, weights, overhead, per_token, tokens):
    found = read(name)
    assert (found.model, found.shards, found.cache_tokens) == (model, shards, tokens)
    assert found.engine == name.partition("-")[0]
    assert found.weights_gb == pytest.approx(weights * GIB)
    expected = None if overhead is None else pytest.approx(overhead * GIB + CONTEXT)
    assert found.overhead_gb == expected
    per_token = None if per_token is None else pytest.approx(per_token, rel=0.001)
    assert found.kv_bytes_per_token == per_token
    assert found.least_overhead == (found.engine == "sglang")


def test_the_kind_of_gpu_tells_what_the_log_leaves_out():
    found = read("vllm-0.8.5.log", 79.10)
    assert found.overhead_gb == pytest.approx((0.9 * 79.10 - 14.2487 - 50.11 + 0.5) * GIB + CONTEXT)
    assert read("vllm-0.27.0-fixed-cache.log", 79.10).overhead_gb is None


def test_newer_versions_take_more_of_a_gpu(tmp_path):
    log = tmp_path / "log"
    log.write_text(
        "Initializing a V1 LLM engine (v0.21.0) with config: model='a', served_model_name=a\n"
        "Model loading took 10.0 GiB memory and 1.0 seconds\n"
        "Available KV cache memory: 60.0 GiB\n"
    )
    found = footprint_of(read_start_log(log), 79.10)
    assert found.overhead_gb == pytest.approx((0.92 * 79.10 - 70) * GIB + CONTEXT)


def test_the_last_start_counts_and_colours_and_prefixes_do_not(tmp_path):
    first = (LOGS / "vllm-0.8.5.log").read_text()
    last = (LOGS / "vllm-0.27.0.log").read_text().replace("INFO", "\x1b[32mINFO\x1b[0m")
    noise = "INFO metrics.py: Avg prompt throughput: 0.0 tokens/s\n" * 1000
    log = tmp_path / "log"
    log.write_text("".join(f"chat-1  | {line}\n" for line in (first + noise + last).splitlines()))
    assert footprint_of(read_start_log(log)) == read("vllm-0.27.0.log")
    log.write_text(first + noise + last.splitlines()[0])
    assert footprint_of(read_start_log(log)).model == "qwen"


@pytest.mark.parametrize("content", [b"", b"hello\n" * 100, b"\xff\xfe\x00" * 1000, b"x" * 300_000])
def test_a_log_without_a_start_is_refused(tmp_path, content):
    (tmp_path / "log").write_bytes(content)
    with pytest.raises(InputError, match="does not say what the weights of a model take"):
        read_start_log(tmp_path / "log")


def test_a_log_is_read_to_a_bound_only(tmp_path, monkeypatch):
    monkeypatch.setattr(start_log, "MOST_BYTES", 1000)
    (tmp_path / "log").write_text("x\n" * 1000 + (LOGS / "vllm-0.8.5.log").read_text())
    with pytest.raises(InputError):
        read_start_log(tmp_path / "log")
    with pytest.raises(InputError, match="cannot be read"):
        read_start_log(tmp_path / "gone")


def test_hostile_lines_take_no_time():
    line = "Load weight end. " + "avail mem=" * 6000 + " graph end. " + "model='" * 3000
    log = FoundFacts()
    begun = time.perf_counter()
    log.take(line + "non-default args" + "served_model_name" * 2000)
    assert time.perf_counter() - begun < 2


@given(st.lists(st.sampled_from(
    [line for path in sorted(LOGS.iterdir()) for line in path.read_text().splitlines()]
), max_size=12), st.integers(0, 200))  # fmt: skip
def test_any_mix_of_lines_is_read(lines, cut):
    log = FoundFacts()
    for line in lines:
        log.take(line[: len(line) - cut] if cut % 3 == 0 else line)
    if "weights" in log.facts:
        footprint_of(log, 79.1)


def spec(**fields):
    return ModelSpec(name="m", **{"size_gb": 10.0, "load": 1.0, **fields})


def fields_of(found):
    return {each.field: each.measured for each in found}


def test_a_size_in_one_number_becomes_weights_and_overhead():
    found = differences(read("vllm-0.27.0.log"), spec(overhead_gb=0.0), {"size_gb": 10.0})
    assert fields_of(found) == {
        "size_gb": 16.095,
        "overhead_gb": 2.33,
        "kv_bytes_per_token": 131065,
    }
    assert all(each.is_off for each in found)


def test_a_config_stays_and_the_overhead_takes_the_rest():
    model = spec(size_gb=16.0, overhead_gb=2.0, kv_bytes_per_token=131072.0)
    found = differences(read("vllm-0.27.0.log"), model, {"config": "c"})
    assert fields_of(found) == {"overhead_gb": 2.43, "kv_bytes_per_token": 131065}
    assert [each.is_off for each in found] == [True, False]


def test_shards_repeat_kv_heads_and_windows_have_no_single_number():
    latent = read("sglang-0.5.5-latent.log")
    model = spec(shards=2, kv_heads=1, kv_bytes_per_token=31104.0)
    assert fields_of(differences(latent, model, {"config": "c"})) == {"kv_bytes_per_token": 31106}
    halves = spec(shards=2, kv_heads=8, overhead_gb=5.0)
    found = fields_of(differences(read("vllm-0.10.2-tp2.log"), halves, {}))
    assert found["kv_bytes_per_token"] == pytest.approx(327680, rel=0.001)
    assert found["size_gb"] == pytest.approx(2 * 33.88 * GIB, abs=0.001)
    windowed = spec(windowed_kv_bytes_per_token=5.0)
    assert "kv_bytes_per_token" not in fields_of(differences(read("vllm-0.8.5.log"), windowed, {}))


def test_an_unknown_overhead_never_makes_a_size_smaller():
    assert "size_gb" not in fields_of(differences(read("vllm-0.8.5.log"), spec(), {"size_gb": 20}))
    stated = {"size_gb": 20, "overhead_gb": 3}
    assert "size_gb" in fields_of(differences(read("vllm-0.8.5.log"), spec(), stated))


def test_the_model_is_found_by_its_name_or_source():
    found = read("vllm-0.8.5.log")
    other, by_source = spec(source="x"), spec(source="Qwen/Qwen2.5-7B-Instruct")
    assert model_of(found, [other, by_source], None) is by_source
    assert model_of(found, [other, by_source], "m") is other
    with pytest.raises(InputError, match="model='qwen' is not known"):
        model_of(found, [other], None)


BLOCK = """\
# my fleet
gpus:
  - {kind: H100-80GB}   # one
models:
  - name: chat   # the hot one
    size_gb: 20  # a guess
    rate: 1
    slo: 1
  - {name: other, size_gb: 5, rate: 1, slo: 1}  # small
"""


def test_comments_and_layout_are_kept():
    changes = {0: {"size_gb": 16.095, "overhead_gb": 2.5}, 1: {"size_gb": 4.5, "overhead_gb": 1.0}}
    assert with_fields(BLOCK, changes) == (
        BLOCK.replace("size_gb: 20  #", "size_gb: 16.095  #")
        .replace("the hot one\n", "the hot one\n    overhead_gb: 2.5\n")
        .replace("size_gb: 5, rate: 1, slo: 1}", "size_gb: 4.5, rate: 1, slo: 1, overhead_gb: 1}")
    )


@pytest.mark.parametrize(
    "text",
    [
        BLOCK,
        BLOCK.replace("\n", "\r\n"),
        '{"models": [{"name": "a", "size_gb": 3}]}',
        '{\n "models": [\n  {"name": "a",\n   "size_gb": 3\n  }]}\n',
        "models: [{name: a}]",
        "models:\n- name: a",
        "models:\n-\n    name: 'ü'\n    only: [b]\n",
        "x-a: &a {rate: 1}\nmodels:\n  - {<<: *a, name: b}\n",
        "models:\n  - name: >\n      long\n      name\n    size_gb: 2\n",
    ],
)
def test_every_layout_says_the_same_but_for_the_changes(text):
    changes = {0: {"size_gb": 1.5, "kv_bytes_per_token": 131072.0}}
    wanted = parse_yaml(text)
    wanted["models"][0] |= changes[0]
    assert parse_yaml(with_fields(text, changes)) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "models:\n  - &a {name: a, size_gb: 1}\n  - {<<: *a, name: b}\n",
        "x-s: &s 3\nmodels: [{name: a, size_gb: *s}]\n",
        "x-m: &m {name: a, size_gb: 1}\nmodels: [*m, *m]\n",
    ],
)
def test_what_would_change_more_is_refused(text):
    with pytest.raises(InputError, match="cannot be changed in place"):
        with_fields(text, {0: {"size_gb": 2.0}})


def run(*arguments, **options):
    command = [sys.executable, "-m", "colocate", "footprint", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_the_command_compares_and_updates(tmp_path):
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text(BLOCK)
    log = LOGS / "vllm-0.27.0.log"
    alone = run(log)
    assert "chat" in alone.stdout
    assert "460,496" in alone.stdout
    compared = run(log, "--fleet", fleet)
    assert "-19.5%" in compared.stdout
    assert fleet.read_text() == BLOCK
    done = run(log, "--fleet", fleet, "--update")
    assert done.returncode == 0, done.stderr
    assert "-    size_gb: 20  # a guess\n" in done.stdout
    assert "+    size_gb: 16.095  # a guess\n" in done.stdout
    assert f"wrote {fleet}" in done.stderr
    chat = read_fleet(fleet).models["chat"]
    assert (chat.size_gb, chat.overhead_gb, chat.kv_bytes_per_token) == (16.095, 2.33, 131065)
    assert "nothing to change" in run(log, "--fleet", fleet, "--update").stderr


def test_the_command_with_a_config_and_what_it_refuses(tmp_path):
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text(
        "gpus: [{kind: H100-80GB}]\nmodels:\n"
        f"  - {{name: chat, config: {CONFIGS / 'Llama-3.1-8B'}, rate: 1, slo: 1}}\n"
    )
    log = LOGS / "vllm-0.27.0.log"
    before = read_fleet(fleet).models["chat"]
    assert run(log, "--fleet", fleet, "--update").returncode == 0
    after = read_fleet(fleet).models["chat"]
    assert after.size_gb == before.size_gb
    assert after.size_gb + after.overhead_gb == pytest.approx(16.095 + 2.33, abs=0.02)
    sharded = run(LOGS / "vllm-0.10.2-tp2.log", "--fleet", fleet, "--model", "chat", "--update")
    assert "the log is of 2 GPUs and the fleet has shards=1" in sharded.stderr
    assert run(log, "--update").returncode == 2
    assert run(log, log, "--model", "chat").returncode == 2
    assert run(log, "--gpu", "none").returncode == 2
    bad = run(tmp_path / "gone")
    assert (bad.returncode, "cannot be read" in bad.stderr) == (3, True)
    unknown = run(LOGS / "vllm-0.8.5.log", "--fleet", fleet)
    assert (unknown.returncode, "model='qwen' is not known" in unknown.stderr) == (3, True)


def test_a_full_disk_loses_nothing(tmp_path):
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text(BLOCK)

    def full():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    log = LOGS / "vllm-0.27.0.log"
    done = run(log, "--fleet", fleet, "--update", preexec_fn=full)
    assert (done.returncode, "cannot be written" in done.stderr) == (1, True)
    assert [path.read_text() for path in tmp_path.iterdir()] == [BLOCK]
