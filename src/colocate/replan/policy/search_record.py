"""A search that found nothing is repeated only when something has changed."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from colocate.replan.policy.decision import PolicyDecision, PolicyReason
from colocate.replan.policy.rates import RateEstimate
from colocate.replan.policy.settings import PolicySettings

REPEATED = 300.0
"""Seconds after which a search is repeated in any case."""
FRUITLESS = frozenset(
    (
        PolicyReason.NOTHING_BETTER,
        PolicyReason.DOES_NOT_PAY,
        PolicyReason.NOT_SURE,
        PolicyReason.NO_ROOM,
    )
)
"""What a search may end with that moves nothing."""


@dataclass
class SearchRecord:
    """The last search that found nothing, and whether its result still holds.

    Parameters
    ----------
    decision, when, about
        What it came to, the moment, and what it was about; None if the last one found something.
    """

    decision: PolicyDecision | None = None
    when: float = 0.0
    about: Hashable = None

    def still_holds(
        self, about: Hashable, rates: Sequence[RateEstimate], now: float, settings: PolicySettings
    ) -> PolicyDecision | None:
        """Return the last decision, None if it is to be made again.

        It is if the fleet changed, a rate did since, more requests wait than come in a second, or
        the clock was set back.

        Parameters
        ----------
        about
            Everything but rates that the decision depends on.
        rates, now, settings
            As for `decide`.
        """
        since = now - self.when
        if self.decision is None or about != self.about or not 0.0 <= since < REPEATED:
            return None
        changed = any(
            each.seconds <= since + settings.recent or each.waiting > each.rate for each in rates
        )
        return None if changed else self.decision

    def remember(self, decision: PolicyDecision, about: Hashable, now: float) -> PolicyDecision:
        """Return a decision, and keep it if it moves nothing for now.

        What rests on a failure of the last minutes, or on models that are silent, does not.

        Parameters
        ----------
        decision, about, now
            What was decided, what it was about, and the moment.
        """
        passing = bool(decision.avoiding or decision.not_measured)
        fruitless = decision.reason in FRUITLESS and not passing
        self.decision, self.when, self.about = decision if fruitless else None, now, about
        return decision
