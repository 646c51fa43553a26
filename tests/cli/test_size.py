import json

import pytest

from tests.cli.test_commands import ROOT, run

CONFIGS = ROOT / "tests" / "data" / "configs"
LLAMA = CONFIGS / "Llama-3.1-8B"


def test_size_tells_parameters_weights_and_cache():
    done = run("size", LLAMA)
    assert (done.returncode, done.stderr) == (0, "")
    assert "8.03" in done.stdout
    assert "131,072" in done.stdout


def test_size_tells_state_and_context_and_who_has_no_cache():
    hybrid = run("size", CONFIGS / "granite-4.0-h-small").stdout
    assert "KV cache      16,384 bytes for each token (bf16)" in hybrid
    assert "state         77.32 MB for each sequence" in hybrid
    assert "context       at most 131,072 tokens" in hybrid
    encoder = run("size", CONFIGS / "bge-m3").stdout
    assert "KV cache      no KV cache" in encoder
    assert "context       at most 8,192 tokens" in encoder
    assert "1 token " not in encoder
    assert "1,024 tokens" not in run("size", CONFIGS / "whisper-large-v3").stdout


def test_size_refuses_a_family_that_is_not_known(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "newcomer"}')
    done = run("size", tmp_path)
    assert done.returncode == 3
    assert "model_type='newcomer' is not known, give size_gb instead of config" in done.stderr


def test_size_as_json_at_another_dtype():
    data = json.loads(run("size", LLAMA, "--dtype", "fp8", "--kv-dtype", "fp8", "--json").stdout)
    assert data["parameters"] == 8_030_261_248
    assert data["kv_bytes_per_token"] == 65_536
    assert data["weight_bytes"] < 1.1 * 8.03e9 + 2 * 525e6 * 2


def test_size_takes_a_name_and_says_where_it_found_it():
    done = run("size", "qwen2.5-7b-instruct")
    assert done.stdout.splitlines()[0].split(maxsplit=1) == [
        "config", "catalogue: Qwen/Qwen2.5-7B-Instruct"
    ]  # fmt: skip
    data = json.loads(run("size", "gpt2", "--json").stdout)
    assert data["config"] == {
        "origin": "catalogue",
        "place": "catalogue: openai-community/gpt2",
        "hub_name": "openai-community/gpt2",
    }


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["gone"], 2, "config='gone' is neither a path nor a model known here"),
        (["./gone"], 3, "gone: cannot be read"),
        (["gone.json"], 3, "gone.json: cannot be read"),
        ([LLAMA, "--dtype", "fp3"], 2, "fp3"),
        ([ROOT / "README.md"], 3, "README.md"),
    ],
)
def test_wrong_input_gets_a_sentence(arguments, code, message):
    done = run("size", *arguments)
    assert done.returncode == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr
