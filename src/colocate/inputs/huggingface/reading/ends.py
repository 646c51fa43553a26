"""What stands before the first layer of a model and after its last."""

from collections.abc import Iterator

from colocate.inputs.huggingface.family import Family, on
from colocate.inputs.huggingface.fields import Fields
from colocate.inputs.huggingface.tensor import Tensor, TensorRole, linear, norm, plain, table

CLASSIFIER, MASKED = "ForSequenceClassification", "ForMaskedLM"
"""How names of architectures end that tell a few labels apart, or fill in masked words."""
BARE, HEADED = "Model", "LMHeadModel"
"""How names of architectures end that have no head at all, and those that have one."""
USUAL_LABELS = 2
"""Of a classifier whose config does not name them, as in the transformers library."""
MOST_LABELS = 100_000
"""A config that names more labels is refused: no classifier has as many."""


def read_ends(fields: Fields, family: Family) -> Iterator[Tensor]:
    """Return embeddings, the last norm and the head."""
    hidden, vocabulary = fields.count("hidden_size"), fields.count("vocab_size")
    width = fields.optional_count("word_embed_proj_dim") or hidden
    spare = fields.optional_count("spare_embeddings", least=0) or 0
    yield table("embed_tokens", vocabulary + spare, width)
    if width != hidden:
        yield Tensor("project_in", TensorRole.LINEAR, hidden, width)
        yield Tensor("project_out", TensorRole.LINEAR, width, hidden)
    if on(family.positions, fields):
        positions = fields.count("max_position_embeddings") + max(0, family.spare_positions)
        yield table("embed_positions", positions, hidden)
    token_types = fields.optional_count("type_vocab_size", least=0)
    if token_types and not family.causal:
        yield table("embed_token_types", token_types, hidden)
    if family.embedding_norm:
        yield norm("embed_norm", hidden, family.norm_bias)
    if family.norms and family.final_norm:
        yield norm("norm", hidden, family.norm_bias)
    yield from _relative_positions(fields, family)
    head = _decoder_head if family.causal else _encoder_head
    yield from head(fields, family, vocabulary, width)


def architecture(fields: Fields) -> str:
    """Return the class that the config names first, empty where it names none."""
    names = fields.texts("architectures")
    return names[0] if names else ""


def label_count(fields: Fields) -> int:
    """Return how many labels a classifier tells apart."""
    named = fields.values.get("id2label")
    count = fields.optional_count("num_labels")
    if count is None:
        count = len(named) if isinstance(named, dict) and named else USUAL_LABELS
    return min(count, MOST_LABELS)


def _decoder_head(fields: Fields, family: Family, vocabulary: int, width: int) -> Iterator[Tensor]:
    """Return the head of a decoder; those that embed or rank have none, or one of a few rows."""
    name = architecture(fields)
    if name.endswith(CLASSIFIER):
        yield plain("score", label_count(fields), width)
        return
    if name.endswith(BARE) and not name.endswith(HEADED) and not family.headed:
        return
    if not fields.switch("tie_word_embeddings"):
        yield plain("lm_head", vocabulary, width)
    if on(family.head_bias, fields):
        yield plain("lm_head", vocabulary)


def _encoder_head(fields: Fields, family: Family, vocabulary: int, width: int) -> Iterator[Tensor]:
    """Return the head of an encoder: none, one that pools, ranks, or fills in masked words."""
    name, bias = architecture(fields), family.head_norm_bias
    masked, classifier = name.endswith(MASKED), name.endswith(CLASSIFIER)
    if masked or classifier or family.pooled:
        yield from linear("head", width, width, bias)
    if masked:
        yield norm("head_norm", width, bias)
        yield plain("lm_head", vocabulary)
    if classifier:
        if not bias:
            yield norm("head_norm", width)
        yield plain("classifier", label_count(fields), width + 1)


def _relative_positions(fields: Fields, family: Family) -> Iterator[Tensor]:
    """Return what some encoders learn about distances instead of positions."""
    if family.causal:
        return
    buckets = fields.optional_count("position_buckets", least=-1)
    if buckets is not None and buckets > 0 and fields.switch("relative_attention"):
        hidden = fields.count("hidden_size")
        yield plain("rel_embeddings", 2 * buckets, hidden)
        yield norm("rel_norm", hidden, family.norm_bias)
    shared = fields.optional_count("relative_attention_num_buckets")
    if shared is not None:
        yield plain("relative_attention_bias", shared, fields.count("num_attention_heads"))
