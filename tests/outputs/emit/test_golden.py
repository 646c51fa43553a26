import subprocess
import sysconfig
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from tests.outputs.emit.golden import CASES, all_files
from tests.outputs.emit.plans import DATA

SHELLCHECK = Path(sysconfig.get_path("scripts")) / "shellcheck"
KUBERNETES = "1.34"
SCRIPTS = [case for case in CASES if case.startswith(("vllm", "sglang"))]
WITH_DAEMONS = ["ray-mps", "kvcached-mps"]
CLUSTERS = [case for case in CASES if case.startswith("kubernetes")]
UNITS = [case for case in CASES if case.startswith("systemd")]


@pytest.mark.parametrize("case", CASES)
def test_files_are_what_they_were(case):
    found = {file.name: file.text for file in all_files(case)}
    kept = {path.name: path.read_text(encoding="utf-8") for path in (DATA / case).iterdir()}
    assert found == kept, "if it is meant, run python -m tests.outputs.emit.golden"


@pytest.mark.parametrize("case", SCRIPTS + WITH_DAEMONS)
def test_scripts_pass_bash_and_shellcheck(case):
    for path in (DATA / case).glob("*.sh"):
        subprocess.run(["bash", "-n", path], check=True)
        subprocess.run([SHELLCHECK, "--shell=bash", path], check=True)


@pytest.mark.parametrize("case", CASES)
def test_manifests_and_configs_are_yaml(case):
    for path in (DATA / case).glob("*.yaml"):
        assert all(isinstance(d, dict) for d in yaml.safe_load_all(path.read_text("utf-8")))


@pytest.mark.parametrize("case", CLUSTERS)
def test_manifests_have_the_real_schema(case):
    documents = list(yaml.safe_load_all((DATA / case / "kubernetes.yaml").read_text("utf-8")))
    for document in documents:
        kubernetes_validate.validate(document, KUBERNETES, strict=True)
    kinds = [document["kind"] for document in documents]
    in_pods = case in ("kubernetes-pod-mps", "kubernetes-mps")
    assert kinds.count("Deployment") == (4 if in_pods else 7)
    assert kinds.count("Service") == 7 + 5, "one for each engine and one for each model awake"


def test_the_schema_would_notice():
    wrong = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"port": 1}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, KUBERNETES, strict=True)
