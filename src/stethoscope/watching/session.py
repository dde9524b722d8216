"""Watching until somebody ends it: look, show, tell, rest."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from stethoscope.watching import json_lines, quota, spoken
from stethoscope.watching.alerts import Alert
from stethoscope.watching.bell import ring
from stethoscope.watching.pace import rest
from stethoscope.watching.quota import Batch, Quota
from stethoscope.watching.state import State
from stethoscope.watching.views import View
from stethoscope.watching.watch import Watch
from stethoscope.watching.webhook import Webhook

REDRAW_SECONDS = 1.0  # ages are shown in seconds
MOST_TOLD = 10  # alerts in the text of one message


@dataclass(slots=True)
class Teller:
    """Tells alerts beyond the view: by the bell, and by a webhook within its quota."""

    bell: bool = False
    webhook: Webhook | None = None
    _quota: Quota = field(default_factory=Quota)

    def tell(self, state: State, alerts: tuple[Alert, ...]) -> None:
        """Ring and send; what is beyond the quota waits."""
        if alerts and self.bell:
            ring()
        if self.webhook is not None:
            self._quota, batch = quota.update(self._quota, alerts, time.time())
            self._send(state, batch)

    def finish(self, state: State) -> None:
        """Send what was held back, and wait a moment for it."""
        if self.webhook is not None:
            self._send(state, quota.last_batch(self._quota))
            self._quota = Quota()
            self.webhook.close()

    @property
    def trouble(self) -> str:
        """What hinders the webhook."""
        return f"webhook {self.webhook.problem}" if self.webhook and self.webhook.problem else ""

    def _send(self, state: State, batch: Batch | None) -> None:
        if batch is not None and self.webhook is not None:
            text = message_text(state, batch)
            now = time.time()
            message = json_lines.of_message(batch.alerts, state, text, now, batch.summary, batch.more)
            self.webhook.post(message)


def keep_watching(
    watch: Watch, view: View, teller: Teller, first: Iterable[Alert], every: float, until_done: bool
) -> None:
    """Look again and again, until interrupted, or until the run is over where that is asked for."""
    alerts = tuple(first)
    trouble, pause = "", every
    while True:
        view.tell(watch.state, alerts)
        teller.tell(watch.state, alerts)
        if until_done and watch.over:
            return
        trouble = _rest(watch, view, teller, pause, trouble)
        settled, worked, began = watch.settled, time.process_time(), time.monotonic()
        alerts = watch.look()
        # What is read only once says nothing about the next look.
        spent = (time.process_time() - worked, time.monotonic() - began) if settled else (0.0, 0.0)
        pause = rest(*spent, every)


def message_text(state: State, batch: Batch) -> str:
    """A message for people: the run, its verdict, and the alerts."""
    head = spoken.name_of(state)
    if state.diagnosis is not None:
        head += f": {spoken.verdict(state.diagnosis).plain} ({spoken.progress(state.beat)})"
    held = ["Held back since the last message:"] if batch.summary else []
    told = [f"- {spoken.alert(alert).plain}" for alert in batch.alerts[:MOST_TOLD]]
    more = len(batch.alerts) - MOST_TOLD + batch.more
    return "\n".join([head, *held, *told, *([f"and {more:,} more"] if more > 0 else [])])


def _rest(watch: Watch, view: View, teller: Teller, seconds: float, trouble: str) -> str:
    """Wait, with the times on the screen going on; gives the trouble that was told last."""
    until = time.monotonic() + seconds
    while True:
        current = watch.state.problem or teller.trouble
        if current != trouble:
            trouble = current
            view.trouble(watch.state, trouble)
        watch.refresh()
        view.draw(watch.state)
        left = until - time.monotonic()
        if left <= 0:
            return trouble
        time.sleep(min(REDRAW_SECONDS, left))
