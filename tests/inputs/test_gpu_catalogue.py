import pytest

from colocate.errors import UnknownNameError
from colocate.inputs.gpu_catalogue import ACCELERATORS, ROWS, find_accelerator


def test_the_catalogue_is_large_and_without_repeats():
    names = [name.lower() for row in ROWS for name in (row.kind, *row.aliases)]
    assert len(ROWS) >= 16
    assert len(ACCELERATORS) == len(ROWS)
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.kind)
def test_figures_are_possible(row):
    assert 8 <= row.memory_gb <= 300
    assert 100 <= row.bandwidth_gb_s <= 10_000
    assert 10 <= row.tflops_16bit <= 3_000
    if row.tflops_8bit is not None:
        assert 1 <= row.tflops_8bit / row.tflops_16bit <= 4
    if row.price_per_hour is not None:
        assert 0.1 <= row.price_per_hour <= 20
    assert all(find_accelerator(name) is row for name in (row.kind, *row.aliases))


@pytest.mark.parametrize(
    ("name", "memory", "bandwidth", "tflops"),
    [
        ("T4", 16, 320, 65),
        ("L4", 24, 300, 121),
        ("A10", 24, 600, 125),
        ("L40S", 48, 864, 362),
        ("A100-40GB", 40, 1555, 312),
        ("A100-80GB", 80, 2039, 312),
        ("H100", 80, 3350, 989),
        ("H200", 141, 4800, 989),
        ("B200", 180, 8000, 2250),
        ("MI300X", 192, 5300, 1307),
        ("RTX-4090", 24, 1008, 165.2),
    ],
)
def test_figures_of_the_data_sheets(name, memory, bandwidth, tflops):
    found = find_accelerator(name)
    assert (found.memory_gb, found.bandwidth_gb_s, found.tflops_16bit) == (
        memory,
        bandwidth,
        tflops,
    )


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("h100", "H100-80GB"),
        ("a100", "A100-40GB"),
        ("NVIDIA H100 80GB HBM3", "H100-80GB"),
        ("NVIDIA A100-SXM4-80GB", "A100-80GB"),
        ("NVIDIA GeForce RTX 4090", "RTX-4090"),
        ("rtx4090", "RTX-4090"),
        ("Tesla_T4", "T4"),
        ("AMD Instinct MI300X", "MI300X"),
    ],
)
def test_names_as_people_and_tools_write_them(name, kind):
    assert find_accelerator(name).kind == kind


@pytest.mark.parametrize(
    ("name", "hint"),
    [("L40X", "did you mean 'L40'"), ("", "must be one of: V100-16GB"), ("nvidia", "must be one")],
)
def test_unknown_names(name, hint):
    with pytest.raises(UnknownNameError, match=f"gpu kind={name!r} is not known, {hint}"):
        find_accelerator(name)
