import json

import pytest
from typer.testing import CliRunner

from colocate.cli.main import app
from colocate.errors import InputError, UnknownNameError
from colocate.outputs.plan.json_form import plan_json
from tests.outputs.emit.plans import DATA, plan_of, realistic_plan


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(plan_json(*realistic_plan()), encoding="utf-8")
    return path


def run(*words):
    result = CliRunner().invoke(app, ["emit", *map(str, words)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_files_are_written_whole_and_said(plan, tmp_path):
    out = tmp_path / "new" / "folder"
    result = run(plan, "--to", "vllm", "--out", out)
    assert result.exit_code == 0
    assert result.stdout == ""
    scripts, others = ["vllm-alpha.sh", "vllm-beta.sh"], ["endpoints.json", "litellm.yaml"]
    assert sorted(path.name for path in out.iterdir()) == [*others, "nginx.conf", *scripts]
    assert f"wrote {out / 'vllm-alpha.sh'}" in result.stderr.replace("\n", "")
    for path in out.iterdir():
        assert path.read_text("utf-8") == (DATA / "vllm" / path.name).read_text("utf-8")
        assert bool(path.stat().st_mode & 0o111) == (path.suffix == ".sh")


def test_files_of_another_plan_in_the_folder_are_named_and_kept(plan, tmp_path):
    out = tmp_path / "start"
    run(plan, "--to", "vllm", "--out", out)
    (out / "vllm-beta.sh").rename(out / "vllm-gone.sh")
    (out / "vllm-mine.sh").write_text("#!/bin/sh\necho mine\n", encoding="utf-8")
    (out / "vllm2-beta.sh").write_text("# A colocate plan\n", encoding="utf-8")
    (out / "vllm-folder.sh").mkdir()
    said = run(plan, "--to", "vllm", "--out", out, "--node", "alpha").stderr.splitlines()
    assert [line for line in said if str(out) in line] == [
        f"wrote {out / 'vllm-alpha.sh'}",
        f"note: {out / 'vllm-gone.sh'} belongs to another plan; remove it",
    ]
    assert (out / "vllm-gone.sh").exists()
    assert "another plan" not in run(plan, "--to", "sglang", "--out", out).stderr


def test_what_may_not_start_is_said_aside(tmp_path):
    model = {"name": "[bold]m", "dtype": "int4", "size_gb": 40, "load": 1}
    found = plan_of(
        json.dumps({"gpus": [{"name": "g", "memory_gb": 80}], "models": [model]}),
        {"[bold]m": ["g"]},
    )
    path = tmp_path / "plan.json"
    path.write_text(plan_json(*found), encoding="utf-8")
    said = run(path, "--to", "vllm").stderr
    assert "note: model '[bold]m' needs a checkpoint that is already 'int4'" in said
    assert "note: '[bold]m' has no source" in said


def test_one_file_goes_to_stdout(plan):
    result = run(plan, "--to", "kubernetes")
    expected = (DATA / "kubernetes-dra" / "kubernetes.yaml").read_text("utf-8")
    assert result.stdout == expected


def test_the_file_of_one_machine_goes_to_stdout(plan):
    result = run(plan, "--to", "vllm", "--node", "beta")
    assert result.stdout == (DATA / "vllm" / "vllm-beta.sh").read_text("utf-8")


def test_several_files_need_a_folder(plan):
    result = run(plan, "--to", "compose")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "compose-alpha.yaml and compose-beta.yaml" in result.stderr


def test_what_a_target_cannot_do_is_said_aside(plan):
    result = run(plan, "--to", "ray")
    assert "note: Ray cannot pin a model to one GPU" in result.stderr
    assert result.stdout == (DATA / "ray" / "ray.yaml").read_text("utf-8")


@pytest.mark.parametrize(("target", "hint"), [("vllm", "one of: alpha, beta"), ("ray", "leave")])
def test_an_unknown_machine_is_an_error(plan, target, hint):
    with pytest.raises(UnknownNameError, match=hint):
        run(plan, "--to", target, "--node", "gamma")


def test_a_plan_that_breaks_a_rule_is_not_started(plan):
    data = json.loads(plan.read_text("utf-8"))
    data["placement"]["embedder"] = ["b-7"]
    plan.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(InputError, match="'b-7', which does not exist"):
        run(plan, "--to", "vllm")


@pytest.mark.parametrize(
    ("target", "engine"), [("ray", "sglang"), ("vllm", "sglang"), ("sglang", "vllm")]
)
def test_an_engine_that_a_target_cannot_start_is_refused(plan, target, engine):
    result = run(plan, "--to", target, "--engine", engine)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert f"--to {target} starts" in result.stderr


def test_the_engine_of_a_target_may_be_named(plan):
    words = ("--to", "ray", "--engine", "vllm")
    assert run(plan, *words).stdout == (DATA / "ray" / "ray.yaml").read_text("utf-8")


def test_options_reach_the_files(plan):
    words = ["--memory", "kvcached", "--engine", "sglang", "--share", "env", "--base-port", "9000"]
    text = run(plan, "--to", "kubernetes", *words, "--image", "own:1").stdout
    assert "image: own:1" in text
    assert "containerPort: 9000" in text
    assert "sglang.launch_server" in text
    assert "ENABLE_KVCACHED" in text
    assert "NVIDIA_VISIBLE_DEVICES" in text
    assert "ResourceClaim" not in text


def test_units_of_another_plan_are_named_too(plan, tmp_path):
    run(plan, "--to", "systemd", "--out", tmp_path)
    (tmp_path / "colocate-canary.service").rename(tmp_path / "colocate-gone.service")
    (tmp_path / "colocate-own.service").write_text("[Service]\nExecStart=/bin/true\n")
    said = run(plan, "--to", "systemd", "--out", tmp_path, "--node", "beta").stderr
    assert "colocate-gone.service belongs to another plan" in said.replace("\n", " ")
    assert "colocate-own.service" not in said


def test_a_base_for_kustomize_lies_beside_the_manifests(plan, tmp_path):
    options = ["--namespace", "models", "--weights", "claim:hub", "--load-gb-per-second", "2"]
    run(plan, "--to", "kubernetes", "--out", tmp_path, *options)
    assert {path.name for path in tmp_path.glob("*.yaml")} == {
        "kubernetes.yaml",
        "kustomization.yaml",
        "litellm.yaml",
    }
    assert "namespace: models" in (tmp_path / "kustomization.yaml").read_text("utf-8")
    text = (tmp_path / "kubernetes.yaml").read_text("utf-8")
    assert "claimName: hub" in text
    assert f"failureThreshold: {(600 + 80) // 10}" in text, "71 GB in 16 bits are loaded in 71 s"


@pytest.mark.parametrize(
    "words",
    [
        ["--weights", "nothing"],
        ["--weights", "claim:No_Name"],
        ["--weights", "host:models"],
        ["--weights", "host:/a/../b"],
        ["--weights", "new-claim:many"],
        ["--weights", "new-claim:5Gi:Fast Disk"],
        ["--namespace", "Models"],
        ["--load-gb-per-second", "0"],
        ["--sharing", "mps", "--time-slice", "long"],
    ],
)
def test_options_that_mean_nothing_are_refused(plan, words):
    with pytest.raises(InputError, match=r"weights|namespace|load_gb_per_second|time_slice"):
        run(plan, "--to", "kubernetes", *words)


def test_gateways_are_told_where_machines_are(plan, tmp_path):
    words = ["--address", "alpha=10.0.0.1", "--address", "beta=b.lan", "--gateway-port", "80"]
    run(plan, "--to", "vllm", "--out", tmp_path / "start", *words)
    nginx = (tmp_path / "start" / "nginx.conf").read_text("utf-8")
    assert "server 10.0.0.1:8000 " in nginx
    assert "server b.lan:8003 " in nginx
    assert "listen 0.0.0.0:80;" in nginx


def test_the_gateway_of_others_stays_as_it_is(plan, tmp_path):
    path = tmp_path / "nginx.conf"
    path.write_text("events {}\n", encoding="utf-8")
    result = run(plan, "--to", "vllm", "--out", tmp_path)
    assert result.exit_code == 2
    assert "nginx.conf is not from colocate emit" in " ".join(
        result.stderr.replace("│", "").split()
    )
    assert path.read_text("utf-8") == "events {}\n"
    assert [p.name for p in tmp_path.iterdir() if p != plan] == ["nginx.conf"]
    assert run(plan, "--to", "vllm", "--out", tmp_path, "--node", "alpha").exit_code == 0
    path.unlink()
    assert run(plan, "--to", "vllm", "--out", tmp_path).exit_code == 0
    assert run(plan, "--to", "sglang", "--out", tmp_path).exit_code == 0, "its own are replaced"


def test_the_fleet_file_of_a_plan_says_how_engines_share(plan, tmp_path):
    data = json.loads(plan.read_text("utf-8"))
    data["fleet"]["sharing"] = "mps"
    plan.write_text(json.dumps(data), encoding="utf-8")
    words = ["--to", "vllm", "--node", "beta"]
    assert "nvidia-cuda-mps-control" in run(plan, *words).stdout
    sliced = run(plan, *words, "--sharing", "slices")
    assert sliced.stdout == (DATA / "vllm" / "vllm-beta.sh").read_text("utf-8")
    run(plan, "--to", "ray", "--out", tmp_path / "ray")
    assert (tmp_path / "ray" / "mps-beta.sh").stat().st_mode & 0o111
