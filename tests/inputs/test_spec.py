import re
from pathlib import Path

import pytest

from colocate import InputError, read_fleet
from colocate.inputs.fleet import parse_fleet

GOOD = """
gpus:
  - {name: h100, memory_gb: 80, count: 2}
  - {name: l4, memory_gb: 24}
models:
  - {name: llama, size_gb: 16, rate: 4, slo: 8}
  - {name: qwen, size_gb: 1.5e1, load: [0.1, 2e-1]}
  - {name: idle, size_gb: 3, load: 0}
"""


def test_a_fleet_file(tmp_path):
    path = tmp_path / "fleet.yaml"
    path.write_text(GOOD)
    problem = read_fleet(path).problem
    assert [(gpu.name, gpu.memory_gb) for gpu in problem.gpus] == [
        ("h100-0", 76),
        ("h100-1", 76),
        ("l4", 22.8),
    ]
    assert [(m.name, m.size_gb, m.load) for m in problem.models] == [
        ("llama", 16, (0.5,)),
        ("qwen", 15, (0.1, 0.2)),
        ("idle", 3, (0.0,)),
    ]


def test_json_is_yaml():
    gpus, models = '[{"name": "g", "memory_gb": 8}]', '[{"name": "m", "size_gb": 1, "load": 1}]'
    text = f'{{"gpus": {gpus}, "models": {models}}}'
    assert parse_fleet(text).problem.models[0].load == (1.0,)


def test_json_with_tabs_and_escaped_emoji():
    text = '{\n\t"gpus": [{"name": "g", "memory_gb": 8}],'
    text += '\n\t"models": [{"name": "\\ud83d\\ude00", "size_gb": 1, "load": 1}]\n}'
    assert parse_fleet(text).problem.models[0].name == "\U0001f600"


def test_yaml_merge_keys():
    text = """
gpus: [{name: g, memory_gb: 80}]
models:
  - &small {name: a, size_gb: 3, load: 1}
  - {<<: *small, name: b}
"""
    assert [(m.name, m.size_gb) for m in parse_fleet(text).problem.models] == [("a", 3), ("b", 3)]


def test_a_leading_zero_is_no_octal_number():
    assert parse_fleet(GOOD.replace("size_gb: 3", "size_gb: 010")).problem.models[2].size_gb == 10


def test_a_name_like_a_date_is_a_text():
    assert (
        parse_fleet(GOOD.replace("name: idle", "name: 2024-01-31")).problem.models[2].name
        == "2024-01-31"
    )


def test_exponents_without_a_dot_are_numbers():
    text = GOOD.replace("1.5e1", "1e1")
    assert parse_fleet(text).problem.models[1].size_gb == 10


MODEL = "{name: llama, size_gb: 16, rate: 4, slo: 8}"


@pytest.mark.parametrize(
    ("found", "replacement", "message"),
    [
        (
            MODEL,
            "{name: llama, rate: 4, slo: 8}",
            "line 6: models[0] 'llama': size_gb is missing, give",
        ),
        (MODEL, "{size_gb: 16, rate: 4, slo: 8}", "models[0]: name is missing, must be a text"),
        (MODEL, "{name: llama, size_gb: 16, rate: 4}", "models[0] 'llama': slo is missing, give"),
        (MODEL, "{name: llama, size_gb: 16}", "models[0] 'llama': rate is missing, give rate and"),
        ("slo: 8", "slo: 0", "models[0] 'llama': slo=0, must be a finite number > 0"),
        ("slo: 8", "slo: -1.5", "models[0] 'llama': slo=-1.5, must be a finite number > 0"),
        ("slo: 8", "slo: .nan", "models[0] 'llama': slo=nan, must be a finite number > 0"),
        ("rate: 4", "rate: .inf", "models[0] 'llama': rate=inf, must be a finite number >= 0"),
        ("rate: 4", "rate: yes", "models[0] 'llama': rate=True, must be a finite number >= 0"),
        ("rate: 4", "rate: fast", "models[0] 'llama': rate='fast', must be a finite number >= 0"),
        ("rate: 4", "rate: null", "models[0] 'llama': rate is missing, give rate and slo, or load"),
        ("rate: 4", "rat: 4", "line 6: models[0] 'llama': rat is not known, did you mean 'rate'?"),
        ("name: llama", "name: 7", "models[0] 7: name=7, must be a text"),
        ("name: llama", "name: ''", "models[0] '': name='', must be a text"),
        (
            "name: llama",
            "name: idle",
            "line 8: models[2] 'idle': name='idle' is already that of models[0] (line 6), must be",
        ),
        (
            "name: l4",
            "name: h100-1",
            "line 4: gpus[1] 'h100-1': name='h100-1' is already that of gpus[0] (line 3), must be",
        ),
        ("memory_gb: 24", "memory_gb: 0", "gpus[1] 'l4': memory_gb=0, must be a finite number > 0"),
        ("count: 2", "count: 0", "gpus[0] 'h100': count=0, must be a whole number"),
        ("count: 2", "count: 1.5", "gpus[0] 'h100': count=1.5, must be a whole number"),
        ("[0.1, 2e-1]", "[]", "models[1] 'qwen': load=[], must be a finite number >= 0, or a list"),
        ("[0.1, 2e-1]", "[0.1, -1]", "models[1] 'qwen': load="),
        (MODEL, "llama", "models[0]: found 'llama', must be a mapping"),
        (MODEL, "{name: a, size_gb: 1, rate: 1, rate: 2, slo: 1}", "key 'rate' stands twice"),
        (MODEL, "{name: a, size_gb: 1, rate: 1e308, slo: 1e-308}", "must be a finite number"),
        (MODEL, "{", "not valid YAML"),
        (MODEL, "{'': 2, name: a, size_gb: 1, load: 1}", "models[0] 'a': '' is not known, must be"),
        (MODEL, "{0: 2, name: a, size_gb: 1, load: 1}", "models[0] 'a': 0 is not known, must be"),
        ("slo: 8", "slo: 1:30", "models[0] 'llama': slo='1:30', must be a finite number > 0"),
        ("load: 0}", "load: [0, 1, 2]}", "models[1] 'qwen': load has 2 numbers, must be 3, as the"),
        (MODEL, "{1: 2, name: a, size_gb: 1, load: 1}", "models[0] 'a': 1 is not known, must be"),
        ("slo: 8", "slo: 8, load: 1", "models[0] 'llama': has load itself and rate, give one"),
        ("name: llama", "name: ' '", "models[0] ' ': name=' ', must be a text that is not empty"),
        ("name: llama", 'name: "a\\e[31m"', "must be a text without control characters"),
        ("count: 2", "count: 20000", "gpus are 20001 in all, must be at most 20000"),
    ],
)
def test_bad_fields_are_named_with_what_was_found_and_expected(found, replacement, message):
    assert found in GOOD
    with pytest.raises(InputError) as error:
        parse_fleet(GOOD.replace(found, replacement, 1))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty, must be a mapping with gpus and models"),
        ("# only a comment", "is empty, must be a mapping with gpus and models"),
        ("- a\n- b", "found ['a', 'b'], must be a mapping with gpus and models"),
        ("gpus: []\nmodels: []", "gpus=[], must be a list with at least one GPU"),
        ("gpus: [{name: g, memory_gb: 8}]", "models is missing, must be a list with at least one"),
        ("gpus: 3\nmodels: []", "gpus=3, must be a list with at least one GPU"),
        (
            "gpus: {}\nmodels: 3\nextra: 1",
            "line 3: extra is not known, must be one of: schema, load, gpus",
        ),
        ("!!python/object/apply:os.system ['true']", "not valid YAML"),
        ("[" * 5000, "line 1: is nested more than 200 levels deep"),
        ("? {a: 1}\n: 2", "not valid YAML"),
        ("gpus: \x00", "not valid YAML"),
        (
            "5: 1\ngpus: []\nmodels: []",
            "line 1: 5 is not known, must be one of: schema, load, gpus",
        ),
        ('{"gpus": [{"name": "g", "memory_gb": ' + "1" * 5000 + "}]}", "not valid YAML or JSON"),
        ('{"gpus": [], "gpus": []}', "key 'gpus' stands twice, must be unique"),
    ],
)
def test_files_that_are_no_fleet(text, message):
    with pytest.raises(InputError) as error:
        parse_fleet(text)
    assert message in str(error.value)


def test_a_bomb_of_aliases_is_refused_quickly():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    with pytest.raises(InputError, match="and 20 more") as error:
        parse_fleet("\n".join([*lines, "gpus: *a11", "models: *a11"]))
    assert len(str(error.value)) < 2000


def test_unreadable_files(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.yaml: cannot be read, No such file"):
        read_fleet(tmp_path / "nowhere.yaml")
    with pytest.raises(InputError, match="cannot be read, Is a directory"):
        read_fleet(tmp_path)
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"gpus: \xff\xfe")
    with pytest.raises(InputError, match=r"binary\.yaml: byte 6 is not UTF-8"):
        read_fleet(binary)


def test_every_fault_is_listed_with_the_file(tmp_path):
    path = tmp_path / "fleet.yaml"
    path.write_text(GOOD.replace("slo: 8", "slo: 0").replace("memory_gb: 24", "memory_gb: -1"))
    with pytest.raises(InputError) as error:
        read_fleet(path)
    lines = str(error.value).splitlines()
    assert len(lines) == 2
    assert all(line.startswith(f"{path}: ") for line in lines)


def test_constraints_in_a_fleet_file():
    problem = parse_fleet(
        """
        gpus:
          - {name: a, kind: A100-80GB, node: alpha, memory_gb: 80, reserve_gb: 0, count: 2}
          - {name: b, memory_gb: 40, reserve_gb: 2, node: beta}
        models:
          - {name: large, size_gb: 100, shards: 2, load: 1, only: [alpha]}
          - {name: hot, size_gb: 10, replicas: 2, load: 4, never: [a-0]}
          - {name: small, size_gb: 1, load: 1}
        apart: [[large, small]]
        together: []
        most_models: 3
        """
    ).problem
    assert [(gpu.memory_gb, gpu.node) for gpu in problem.gpus] == [
        (80, "alpha"),
        (80, "alpha"),
        (38, "beta"),
    ]
    large, hot, _ = problem.models
    assert (large.shards, large.only, hot.replicas, hot.never) == (2, ("alpha",), 2, ("a-0",))
    assert (problem.apart, problem.most_models) == ((("large", "small"),), 3)


def test_models_are_sized_from_their_configs(tmp_path):
    config = Path(__file__).parents[1] / "data" / "configs" / "Llama-3.1-8B"
    (tmp_path / "fleet.yaml").write_text(
        "gpus: [{name: g, memory_gb: 80}]\n"
        "models:\n"
        f"  - {{name: a, config: {config}, load: 1}}\n"
        f"  - {{name: b, config: {config}, dtype: fp8, overhead_gb: 2, load: 1}}\n"
    )
    a, b = read_fleet(tmp_path / "fleet.yaml").problem.models
    assert a.size_gb == pytest.approx(16.06 + 2.47, abs=0.01)
    assert b.size_gb < 9.2 + 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("{name: m, load: 1}", "size_gb is missing"),
        ("{name: m, load: 1, size_gb: 1, config: c}", "has size_gb and config"),
        (
            "{name: m, load: 1, config: gone}",
            "models[0] 'm': config='gone' is neither a path nor a model known here",
        ),
        ("{name: m, load: 1, size_gb: 1, replicas: 0}", "replicas=0, must be a whole number >= 1"),
        (
            "{name: m, load: 1, size_gb: 1, only: [z]}",
            "only has 'z', which is no GPU, node or kind",
        ),
        ("{name: m, load: 1, size_gb: 1, only: z}", "only='z', must be a list of names"),
    ],
)
def test_constraints_and_configs_that_make_no_sense(change, message):
    with pytest.raises(InputError) as caught:
        parse_fleet(f"gpus: [{{name: g, memory_gb: 80}}]\nmodels: [{change}]")
    assert message in str(caught.value)


def test_a_kind_that_is_not_in_the_catalogue_needs_its_memory():
    with pytest.raises(InputError, match="H1000"):
        parse_fleet("gpus: [{name: g, kind: H1000}]\nmodels: [{name: m, size_gb: 1, load: 1}]")
    with pytest.raises(InputError, match="memory_gb is missing"):
        parse_fleet("gpus: [{name: g}]\nmodels: [{name: m, size_gb: 1, load: 1}]")


@pytest.mark.parametrize(
    ("gpus", "sentence"),
    [
        ("[{name: g, memory_gb: 8, count: 2, devices: [3, 3]}]",
         "gpus[0] 'g': devices has 3, which another GPU of the machine has already"),
        ("[{name: g, memory_gb: 8, node: n, devices: [1]}, "
         "{name: h, memory_gb: 8, node: n, count: 2, devices: [0, 1]}]",
         "gpus[1] 'h': devices has 1, which another GPU of node 'n' has already"),
    ],
)  # fmt: skip
def test_two_gpus_of_a_machine_cannot_be_one_device(gpus, sentence):
    with pytest.raises(InputError, match=re.escape(sentence)):
        parse_fleet(f"gpus: {gpus}\nmodels: [{{name: m, size_gb: 1, load: 1}}]")


def test_devices_are_counted_on_each_node_around_those_that_are_stated():
    fleet = parse_fleet("""
gpus:
  - {name: a, memory_gb: 8, node: n, count: 2}
  - {name: b, memory_gb: 8, node: n, devices: [1]}
  - {name: c, memory_gb: 8, node: n}
  - {name: d, memory_gb: 8, node: o, devices: [1]}
models: [{name: m, size_gb: 1, load: 1}]
""")
    numbers = {name: device.number for name, device in fleet.devices.items()}
    assert numbers == {"a-0": 0, "a-1": 2, "b": 1, "c": 3, "d": 1}
