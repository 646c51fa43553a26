"""kustomize builds the base, and nothing is lost or changed by it but the namespace and labels."""

import re
import subprocess

import pytest
import yaml

from tests.files.programs import needs
from tests.outputs.emit.plans import DATA
from tests.outputs.emit.test_golden import CLUSTERS

WITH_LABELS = (4, 1)
"""The version of kustomize that knows `labels`."""


def built(folder):
    done = subprocess.run(
        ["kubectl", "kustomize", folder], capture_output=True, text=True, check=True
    )
    return list(yaml.safe_load_all(done.stdout))


def version():
    said = subprocess.run(
        ["kubectl", "version", "--client"], capture_output=True, text=True, check=False
    ).stdout
    numbers = re.search(r"Kustomize Version: v(\d+)\.(\d+)", said)
    return tuple(map(int, numbers.groups())) if numbers else (0, 0)


@needs("kubectl", "kubernetes-client")
@pytest.mark.parametrize("case", CLUSTERS)
def test_the_base_builds(case):
    if version() < WITH_LABELS:
        pytest.skip(f"left out: kubectl has kustomize {version()}, which knows no labels")
    manifests = list(yaml.safe_load_all((DATA / case / "kubernetes.yaml").read_text("utf-8")))
    base = yaml.safe_load((DATA / case / "kustomization.yaml").read_text("utf-8"))
    found = built(DATA / case)
    specs = {(m["kind"], m["metadata"]["name"]): m["spec"] for m in manifests}
    assert {(m["kind"], m["metadata"]["name"]): m["spec"] for m in found} == specs
    for manifest in found:
        assert manifest["metadata"]["labels"]["app.kubernetes.io/instance"] == "colocate"
        assert manifest["metadata"].get("namespace") == base.get("namespace")
