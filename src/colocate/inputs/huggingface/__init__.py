"""How much memory a model takes, from its Hugging Face config alone."""

from colocate.inputs.huggingface.model_files import is_quantised_on_disk, read_model_size
from colocate.inputs.huggingface.sizing import ModelSize, model_size

__all__ = ["ModelSize", "is_quantised_on_disk", "model_size", "read_model_size"]
