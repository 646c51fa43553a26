"""The fields of a question, in the form that a server and a model take them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from colocate.lab.proposers.openai.prompt import Message

LIMITS = ("max_tokens", "max_completion_tokens")
"""The two names of the longest answer: servers take one, the other or both."""
NEEDED = ("model", "messages")
"""No question goes without these."""


@dataclass(frozen=True)
class RequestForm:
    """How a model takes a question.

    Parameters
    ----------
    left_out
        Fields that are not sent.
    renamed
        Fields that are sent under another name.
    most_tokens
        The longest answer that may be asked for; None if no limit is known.
    has_system
        Whether the conversation may begin with a message of the system.
    """

    left_out: frozenset[str] = frozenset()
    renamed: Mapping[str, str] = field(default_factory=dict)
    most_tokens: int | None = None
    has_system: bool = True

    def body(self, fields: Mapping[str, Any], conversation: Sequence[Message]) -> dict[str, Any]:
        """Return the fields to send.

        Parameters
        ----------
        fields
            All fields but the conversation; those that are None are left to the server.
        conversation
            The messages of the question.
        """
        sent = {
            self.renamed.get(name, name): self._limited(name, value)
            for name, value in fields.items()
            if value is not None and not {name, self.renamed.get(name, name)} & self.left_out
        }
        return sent | {"messages": self._conversation(conversation)}

    def without(self, name: str) -> "RequestForm":
        """Return the form that leaves out a field, by the name that it is sent under."""
        return replace(self, left_out=self.left_out | {name})

    def with_name(self, name: str, other: str) -> "RequestForm":
        """Return the form that sends a field under another name."""
        first = next((old for old, new in self.renamed.items() if new == name), name)
        return replace(self, renamed={**self.renamed, first: other})

    def _limited(self, name: str, value: Any) -> Any:
        limited = name in LIMITS and self.most_tokens is not None
        return min(value, self.most_tokens) if limited else value

    def _conversation(self, conversation: Sequence[Message]) -> list[Message]:
        if self.has_system:
            return list(conversation)
        return [{"role": "user", "content": "\n\n".join(m["content"] for m in conversation)}]
