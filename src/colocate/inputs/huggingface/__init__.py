"""How much memory a model takes, from its Hugging Face config alone."""

from colocate.inputs.huggingface.config_source import ConfigLookup
from colocate.inputs.huggingface.model_files import ModelConfig, read_model_size
from colocate.inputs.huggingface.sizing import ModelSize, model_size

__all__ = ["ConfigLookup", "ModelConfig", "ModelSize", "model_size", "read_model_size"]
