"""Folders like those that Hugging Face tools download to."""

import json

from tests.inputs.tiny_model import TINY

REVISION = "0123456789abcdef0123456789abcdef01234567"


def cached(cache, name, config=TINY, revision=REVISION, main=REVISION, index=None):
    """Put a model into a cache as `hf download` does: blobs, and links to them."""
    model = cache / f"models--{name.replace('/', '--')}"
    snapshot = model / "snapshots" / revision
    blobs = model / "blobs"
    for folder in (snapshot, blobs, model / "refs"):
        folder.mkdir(parents=True, exist_ok=True)
    if main is not None:
        (model / "refs" / "main").write_text(main)
    for file, content in (("config.json", config), ("model.safetensors.index.json", index)):
        if content is not None:
            (blobs / f"blob-{revision}-{file}").write_text(json.dumps(content))
            (snapshot / file).symlink_to(f"../../blobs/blob-{revision}-{file}")
    return snapshot
