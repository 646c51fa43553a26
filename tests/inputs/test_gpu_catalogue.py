import pytest

from colocate.errors import UnknownNameError
from colocate.inputs.gpu_catalogue import ACCELERATORS, find_accelerator
from colocate.inputs.gpu_rows import ROWS
from colocate.inputs.mig_slices import ALIKE, PROFILES, profiles_of


def test_the_catalogue_is_large_and_without_repeats():
    names = [name.lower() for row in ROWS for name in (row.kind, *row.aliases)]
    assert len(ROWS) >= 16
    assert len(ACCELERATORS) == len(ROWS)
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.kind)
def test_figures_are_possible(row):
    assert 8 <= row.memory_gb <= 310
    assert row.memory_source
    if row.printed_mib is not None:
        assert row.reported_gib * 1024 <= row.printed_mib
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
        ("T4", 15.63, 320, 65),
        ("L4", 23.65, 300, 121),
        ("A10", 23.67, 600, 125),
        ("L40S", 47.66, 864, 362),
        ("A100-40GB", 42.28, 1555, 312),
        ("A100-80GB", 84.98, 2039, 312),
        ("H100", 84.93, 3350, 989),
        ("H200", 150.1, 4800, 989),
        ("B200", 191.5, 8000, 2250),
        ("MI300X", 205.82, 5300, 1307),
        ("RTX-4090", 25.25, 1008, 165.2),
    ],
)
def test_speeds_of_the_data_sheets_and_memory_as_reported(name, memory, bandwidth, tflops):
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
        ("AMD_Instinct_MI300X_OAM", "MI300X"),
        ("NVIDIA H20-3e", "H20-141GB"),
        ("NVIDIA GH200 480GB", "GH200"),
        ("NVIDIA GH200 144G HBM3e", "GH200-144GB"),
        ("NVIDIA A100 80GB PCIe", "A100-PCIe-80GB"),
        ("NVIDIA A100-PCIE-40GB", "A100-40GB"),
        ("Tesla V100S-PCIE-32GB", "V100S-32GB"),
        ("NVIDIA B300 SXM6 AC", "B300"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX-PRO-6000-Server"),
        ("NVIDIA RTX 5000 Ada Generation", "RTX-5000-Ada"),
        ("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "A100-40GB-1g.5gb"),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb+me", "H100-80GB-1g.10gb"),
        ("h200-1g.18gb", "H200-1g.18gb"),
    ],
)
def test_names_as_people_and_tools_write_them(name, kind):
    assert find_accelerator(name).kind == kind


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("L40X", "did you mean 'L40'"),
        ("H101", "did you mean 'H100-80GB'"),
        ("h101", "did you mean 'H100-80GB'"),
        ("", "must be one of: V100-16GB"),
        ("nvidia", "must be one"),
        ("X9-80GB-Mi", "must be one of: A100-80GB, A800-80GB, H100-80GB, "),
    ],
)
def test_unknown_names(name, hint):
    with pytest.raises(UnknownNameError, match=f"gpu kind={name!r} is not known, {hint}"):
        find_accelerator(name)


def every_slice():
    return [(card, profile) for card in (*PROFILES, *ALIKE) for profile in profiles_of(card)]


@pytest.mark.parametrize(("card", "profile"), every_slice())
def test_a_slice_has_its_share_of_the_card(card, profile):
    whole, part = find_accelerator(card), find_accelerator(f"{card}-{profile}")
    memory_slices, gib = profiles_of(card)[profile]
    of = 4 if "4g.24gb" in profiles_of(card) or "4g.96gb" in profiles_of(card) else 8
    assert part.kind == f"{whole.kind}-{profile}"
    assert part.reported_gib == gib
    assert 0.75 <= gib / (whole.reported_gib * memory_slices / of) <= 1.01
    assert part.bandwidth_gb_s == pytest.approx(whole.bandwidth_gb_s * memory_slices / of)
    speed = int(profile[0]) / (4 if of == 4 else 7)
    assert part.tflops_16bit == pytest.approx(whole.tflops_16bit * speed)
    assert part.price_per_hour is None


def test_what_seven_slices_of_an_a100_have():
    part = find_accelerator("A100-40GB-1g.5gb")
    assert (part.memory_gb, part.printed_mib) == (5.1, 4864)
    assert part.bandwidth_gb_s == pytest.approx(1555 / 8)
    assert part.tflops_16bit == pytest.approx(312 / 7)


@pytest.mark.parametrize(
    "name", ["A100-40GB-1g.10gb-2", "L4-1g.5gb", "A100-40GB-9g.99gb", "1g.5gb"]
)
def test_slices_that_no_card_has(name):
    with pytest.raises(UnknownNameError):
        find_accelerator(name)
