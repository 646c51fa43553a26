"""The docs state the figures that the benchmark of sizes prints now."""

import csv
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from colocate.inputs.model_catalogue import model_catalogue

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8").partition("## Sizes")[2]
SECTION = PAGE.partition("\n## ")[0]
SUMMARY = re.compile(r"(\d+) models, mean error (\S+%), worst (\S+%)")
ROW = re.compile(r"^\| .* \| (\d+) \| (\S+%) \| (\S+%)", re.MULTILINE)


@pytest.fixture(scope="module")
def printed():
    words = [sys.executable, ROOT / "benchmarks" / "sizing.py"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def test_the_table_has_every_summary_in_order(printed):
    assert ROW.findall(SECTION) == SUMMARY.findall(printed)


def test_the_numbers_of_families_are_as_printed(printed):
    assert re.findall(r"(\d+)\s+families", SECTION) == re.findall(r"(\d+) families", printed)


def test_the_rows_of_models_are_as_printed(printed):
    lines = [line.split() for line in printed.splitlines()]
    rows = re.findall(r"^\| (\S+) \| ([\d,]{9,}) \| (\S+) \| (\S+) \| (\S+) \|", SECTION, re.M)
    assert len(rows) == 8
    for model, parameters, error, kv, state in rows:
        (found,) = [line for line in lines if line[:1] == [model] and len(line) == 7]
        assert found[3:] == [parameters, f"+{error}", kv, state]


def test_the_page_of_inputs_agrees(printed):
    models, mean, worst = SUMMARY.search(printed).groups()
    (families, *_) = re.findall(r"(\d+) families", printed)
    inputs = " ".join((ROOT / "docs" / "inputs.md").read_text(encoding="utf-8").split())
    assert f"Over {models} configs of {families} families" in inputs
    assert f"{mean} off on average and {float(worst[:-1]):.2f}% at most" in inputs


def test_the_cautions_count_as_the_data_does():
    page = " ".join((ROOT / "docs" / "cautions.md").read_text(encoding="utf-8").split())
    sources = Counter(model.count_from for model in model_catalogue().values())
    assert f"{sources.total() - sources['hub']} of {sources.total()} counts are from a card" in page
    lines = (ROOT / "tests/data/published_parameters.csv").read_text(encoding="utf-8").splitlines()
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    counted = sum(bool(row["counted"]) for row in rows)
    assert f"For {counted} of the {len(rows)} configs in the tests" in page
