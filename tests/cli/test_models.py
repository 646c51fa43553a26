import json
from io import StringIO

from rich.console import Console

from colocate.inputs.model_catalogue import model_catalogue
from colocate.outputs.models.catalogue_table import catalogue_table
from tests.cli.test_commands import run


def test_the_catalogue_is_listed_with_sizes_and_sources():
    done = run("models")
    assert (done.returncode, done.stderr) == (0, "")
    row = next(line for line in done.stdout.splitlines() if "Qwen/Qwen2.5-7B-Instruct " in line)
    assert row.split()[:7] == ["Qwen/Qwen2.5-7B-Instruct", "qwen2", "7.62", "B", "bf16", "15.23",
                               "57,344"]  # fmt: skip
    assert "hub: as published in the model's repository" in done.stdout
    assert all(name in done.stdout for name in model_catalogue())


def test_the_catalogue_as_json():
    rows = json.loads(run("models", "--json").stdout)
    assert [row["name"] for row in rows] == list(model_catalogue())
    row = next(row for row in rows if row["name"] == "Qwen/Qwen2.5-7B-Instruct-AWQ")
    assert row["published_parameters"] == row["parameters"] == 7_615_616_512
    assert (row["dtype"], row["family"]) == ("int4", "qwen2")
    assert row["weight_bytes"] < 6e9
    assert "safetensors" in row["count_from"]


def test_a_narrow_screen_loses_the_columns_that_matter_least():
    console = Console(width=120, file=StringIO())
    console.print(catalogue_table(120))
    out = console.file.getvalue()
    assert "on a wider screen also: family, format, shape from, count from" in out
    assert "weights GB" in out
