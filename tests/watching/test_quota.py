"""A webhook is called so often an hour; what is beyond that comes in one summary."""

from __future__ import annotations

from stethoscope.watching.alerts import Alert, Why
from stethoscope.watching.quota import HOUR, MOST_HELD, PER_HOUR, Quota, last_batch, update
from tests.watching.runs import seen

ALERT = (Alert(seen(), Why.FOUND),)


def test_alerts_go_out_until_the_quota_is_spent_and_then_wait_for_the_hour_to_pass() -> None:
    quota, sent = Quota(), 0
    for minute in range(10):
        quota, batch = update(quota, ALERT, 60.0 * minute)
        sent += batch is not None
    assert sent == PER_HOUR
    assert len(quota.held) == 10 - PER_HOUR
    quota, batch = update(quota, (), HOUR - 1)
    assert batch is None
    quota, batch = update(quota, (), HOUR + 1)
    assert batch is not None
    assert (batch.summary, len(batch.alerts)) == (True, 10 - PER_HOUR)
    assert quota.held == ()


def test_nothing_to_tell_sends_nothing() -> None:
    assert update(Quota(), (), 0.0) == (Quota(), None)


def test_a_flood_is_counted_not_kept() -> None:
    quota = Quota(tuple([0.0] * PER_HOUR))
    for _ in range(MOST_HELD + 7):
        quota, _ = update(quota, ALERT, 1.0)
    assert (len(quota.held), quota.more) == (MOST_HELD, 7)
    assert last_batch(quota) is not None


def test_the_end_sends_what_was_held_back() -> None:
    assert last_batch(Quota()) is None
    batch = last_batch(Quota((), ALERT))
    assert batch is not None
    assert batch.alerts == ALERT
