import json
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colocate.errors import InputError
from colocate.inputs.discovery import discover
from colocate.inputs.discovery.discover import discover_here, discover_in, discover_in_cluster
from colocate.inputs.fleet import parse_fleet
from colocate.outputs.gpu_list import gpus_as_data, gpus_as_yaml, notes_on
from colocate.solver.solve import solve

DATA = Path(__file__).parents[1] / "data" / "discovery"
MODELS = "models: [{name: m, size_gb: 2, rate: 1, slo: 1}]\n"


def text(name):
    return (DATA / name).read_text(encoding="utf-8")


def gpus(name, node=""):
    return gpus_as_data(discover_in(text(name), node))["gpus"]


def notes(name):
    return list(notes_on(discover_in(text(name))))


def test_the_table():
    assert gpus("nvidia-smi.txt", "alpha") == [
        {"name": "alpha-H100-80GB", "node": "alpha", "kind": "H100-80GB", "count": 1},
        {"name": "alpha-RTX-6000-Ada", "node": "alpha", "kind": "RTX-6000-Ada", "count": 1},
    ]
    (note,) = notes("nvidia-smi.txt")
    assert "'RTX-6000-Ada': up to 21.4 GB of a GPU are in use" in note


def test_the_table_with_slices():
    assert gpus("nvidia-smi-mig.txt") == [
        {"kind": "A100-80GB", "count": 1},
        {"kind": "A100-80GB-3g.40gb", "count": 1},
        {"kind": "A100-80GB-2g.20gb", "count": 1},
        {"kind": "A100-80GB-1g.10gb", "count": 1},
    ]
    told = notes("nvidia-smi-mig.txt")
    assert any("'A100-80GB-2g.20gb': up to 15.1 GB" in note for note in told)
    assert sum("MIG slices" in note for note in told) == 3


def test_the_list_with_slices():
    assert gpus("nvidia-smi-list.txt") == [
        {"kind": "A100-80GB", "count": 1},
        {"kind": "A100-80GB-3g.40gb", "count": 1},
        {"kind": "A100-80GB-2g.20gb", "count": 2},
    ]


def test_the_csv_with_numbers_that_are_not_in_a_row_and_memory_that_is_not_usual():
    found = gpus("nvidia-smi-query.csv", "beta")
    assert found == [
        {
            "name": "beta-L40S",
            "node": "beta",
            "kind": "L40S",
            "count": 3,
            "devices": [0, 1, 3],
        },
        {
            "name": "beta-RTX-A6000",
            "node": "beta",
            "kind": "RTX-A6000",
            "count": 1,
            "memory_gb": 47.59,
            "devices": [4],
        },
    ]


def test_csv_without_units_and_several_forms_in_one_text():
    csv = text("nvidia-smi-query.csv").replace(" MiB,", ",")
    assert gpus_as_data(discover_in(csv)) == gpus_as_data(discover_in(text("nvidia-smi-query.csv")))
    both = "index, name, memory.total [MiB]\n0, NVIDIA A100-SXM4-80GB, 81920 MiB\n"
    both += "1, NVIDIA A100-SXM4-80GB, 81920 MiB\n" + text("nvidia-smi-list.txt")
    assert gpus_as_data(discover_in(both))["gpus"] == gpus("nvidia-smi-list.txt")


def test_a_card_in_mig_mode_whose_slices_nobody_listed():
    csv = "index, name, memory.total [MiB], mig.mode.current\n"
    csv += "0, NVIDIA H100 NVL, 95830 MiB, Enabled\n"
    (note,) = notes_on(discover_in(csv))
    assert "has MIG on" in note
    assert "nvidia-smi -L" in note


def test_rocm_smi_as_json_and_plain():
    assert gpus("rocm-smi.json") == [{"kind": "MI300X", "count": 2}]
    assert "up to 99.3 GB" in notes("rocm-smi.json")[0]
    assert gpus("rocm-smi.txt", "lumi") == [{"node": "lumi", "kind": "MI250X", "count": 2}]


def test_nodes_of_a_cluster():
    assert gpus("nodes.json", "unused") == [
        {"node": "h100-a", "kind": "H100-80GB", "count": 7},
        {"node": "l4-shared", "kind": "L4", "count": 2},
        {"node": "a100-single", "kind": "A100-40GB-1g.5gb", "count": 7},
        {"name": "a100-mixed-A100-40GB", "node": "a100-mixed", "kind": "A100-40GB", "count": 1},
        {
            "name": "a100-mixed-A100-40GB-3g.20gb",
            "node": "a100-mixed",
            "kind": "A100-40GB-3g.20gb",
            "count": 1,
            "memory_gb": 21.07,
        },
        {
            "name": "a100-mixed-A100-40GB-1g.5gb",
            "node": "a100-mixed",
            "kind": "A100-40GB-1g.5gb",
            "count": 4,
        },
        {"node": "mi300x", "kind": "MI300X", "count": 8},
        {"node": "gke", "kind": "T4", "count": 1},
    ]
    told = notes("nodes.json")
    assert any("4 GPUs of 'bare' left out: no label" in note for note in told)
    assert any("2 GPUs of 'drained' left out: the machine is not ready" in note for note in told)


@pytest.mark.parametrize("name", sorted(path.name for path in DATA.iterdir()))
def test_with_models_the_list_is_a_fleet_that_can_be_planned(name):
    findings = discover_in(text(name), "alpha")
    fleet = parse_fleet(gpus_as_yaml(findings) + MODELS)
    assert len(fleet.devices) == sum(entry.count for entry in findings.entries)
    assert [gpu.kind for gpu in fleet.spec.gpus] == [entry.kind for entry in findings.entries]
    numbers = [(device.node, device.number) for device in fleet.devices.values()]
    assert len(set(numbers)) == len(numbers)
    assert solve(fleet.problem, time_limit=5.0).placement["m"]


def test_an_unknown_card_keeps_its_memory():
    csv = "index, name, memory.total [MiB]\n0, NVIDIA Z900, 100000 MiB\n1, Other, [N/A]\n"
    findings = discover_in(csv)
    assert gpus_as_data(findings)["gpus"] == [
        {"kind": "NVIDIA Z900", "count": 1, "memory_gb": 103.86}
    ]
    unknown, left = notes_on(findings)
    assert "not in the catalogue" in unknown
    assert "1 GPU of 'Other' left out: their memory is not known" in left


@pytest.mark.parametrize(
    "node", ["on", "1e3", "a: b", "010", "node-1", "x #y", "ü", '"', "[a]", "null", "-", "~", "1"]
)
def test_names_of_any_kind_survive(node):
    written = gpus_as_yaml(discover_in("GPU 0: NVIDIA L4 (UUID: GPU-1)", node))
    (entry,) = parse_fleet(written + MODELS).spec.gpus
    assert entry.node == node


@pytest.mark.parametrize(
    "wrong", ["", "hello", "{}", "[1]", '{"items": []}', "GPU 0: cut", "a,b\n1,2"]
)
def test_a_text_without_gpus_says_what_to_run(wrong):
    with pytest.raises(InputError, match=r"shows no GPU.*run `nvidia-smi --query-gpu="):
        discover_in(wrong)


def test_too_many_gpus():
    nodes = {"items": [{"metadata": {"name": "a", "labels": {"nvidia.com/gpu.product": "L4"}},
                        "status": {"allocatable": {"nvidia.com/gpu": "99999999"}}}]}  # fmt: skip
    with pytest.raises(InputError, match="has 99999999 GPUs, must be at most 20000"):
        discover_in(json.dumps(nodes))


@given(st.text(max_size=300) | st.sampled_from(sorted(DATA.iterdir())).flatmap(
    lambda path: st.integers(0, 4000).map(lambda cut: path.read_text(encoding="utf-8")[cut:])
))  # fmt: skip
def test_any_text_is_read_or_refused(hostile):
    try:
        found = discover_in(hostile)
    except InputError:
        return
    parse_fleet(gpus_as_yaml(found) + MODELS) if found.entries else list(notes_on(found))


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["items", "kind", "metadata", "labels", "status", "spec",
                                       "allocatable", "nvidia.com/gpu", "nvidia.com/gpu.product",
                                       "conditions", "name", "amd.com/gpu"]), inner, max_size=4),
    max_leaves=20,
))  # fmt: skip
def test_any_json_is_read_or_refused(data):
    with suppress(InputError):
        discover_in(json.dumps({"items": [data], "kind": "List"}))


def tool(folder, name, script):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IEXEC)


def test_tools_of_this_machine_are_run(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    tool(tmp_path, "nvidia-smi", f'[ "$1" = -L ] && cat {DATA}/nvidia-smi-list.txt || echo name')
    assert gpus_as_data(discover_here("n"))["gpus"][0]["node"] == "n"
    (tmp_path / "nvidia-smi").unlink()
    tool(tmp_path, "rocm-smi", f"cat {DATA}/rocm-smi.json")
    assert discover_here().entries[0].kind == "MI300X"
    tool(tmp_path, "kubectl", f"cat {DATA}/nodes.json")
    assert discover_in_cluster().entries[0].node == "h100-a"


def test_tools_that_fail_hang_or_are_not_there(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="neither nvidia-smi nor rocm-smi is on this machine"):
        discover_here()
    with pytest.raises(InputError, match="kubectl is not on this machine"):
        discover_in_cluster()
    tool(tmp_path, "nvidia-smi", "echo 'Failed to initialize NVML' >&2; exit 9")
    with pytest.raises(InputError, match="failed with 9, it said: 'Failed to initialize NVML'"):
        discover_here()
    monkeypatch.setattr(discover, "SECONDS", 0.2)
    tool(tmp_path, "nvidia-smi", "exec /bin/sleep 9")
    with pytest.raises(InputError, match=r"has not ended after 0\.2 seconds"):
        discover_here()


def run(*arguments, **options):
    command = [sys.executable, "-m", "colocate", "discover", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_the_command(tmp_path):
    done = run(DATA / "nodes.json")
    assert done.returncode == 0
    assert done.stdout.startswith("gpus:\n  - {node: h100-a, kind: H100-80GB, count: 7}\n")
    assert "note: 4 GPUs of 'bare' left out" in done.stderr
    as_json = run("-", "--json", input=text("rocm-smi.json"))
    assert json.loads(as_json.stdout) == {"gpus": [{"kind": "MI300X", "count": 2}]}
    target = tmp_path / "gpus.yaml"
    assert run(DATA / "nodes.json", "--out", target).returncode == 0
    assert target.read_text() == done.stdout
    again = run(DATA / "nodes.json", "--out", target)
    assert (again.returncode, "exists already" in again.stderr) == (2, True)
    assert run(DATA / "nodes.json", "--kubernetes").returncode == 2
    bad = run("-", input="nothing")
    assert (bad.returncode, "standard input: shows no GPU" in bad.stderr) == (3, True)
