"""The forms of questions that the models of a server take, learned from its refusals."""

from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

from colocate.lab.proposers.openai.lessons import lesson_of
from colocate.lab.proposers.openai.request_form import RequestForm
from colocate.lab.proposers.openai.wire import HttpReply


class LearnedForms:
    """One form for each model, which several askers share.

    Parameters
    ----------
    first
        The form to begin with.
    tell
        Is told once about each thing that was learned.
    """

    def __init__(self, first: RequestForm, tell: Callable[[str], None]) -> None:
        self._first, self._tell = first, tell
        self._lock = Lock()
        self._forms: dict[str, RequestForm] = {}

    def form_of(self, model: str) -> RequestForm:
        """Return the form that a model takes, as far as that is known."""
        with self._lock:
            return self._forms.get(model, self._first)

    def learn(
        self, model: str, form: RequestForm, sent: Mapping[str, Any], reply: HttpReply
    ) -> bool:
        """Learn from a refusal which fields to send; return whether another try makes sense.

        Parameters
        ----------
        model
            The model that was asked.
        form, sent
            The form and the fields of the refused question.
        reply
            The refusal.
        """
        lesson = lesson_of(form, sent, reply.status, reply.text)
        if lesson is None:
            return False
        with self._lock:
            if self._forms.get(model, self._first) != form:
                return True  # another asker has learned meanwhile
            self._forms[model] = lesson.form
        option = f" ({lesson.option} says so from the start)" if lesson.option else ""
        self._tell(f"openai:{model} {lesson.fault}; {lesson.remedy}{option}")
        return True
