"""The words that every form of a review shares."""

from __future__ import annotations

from stethoscope.review import OBJECTIONABLE, Change, Kind, Review, Ruling

# The worst news first.
ORDER = (
    Ruling.HARMFUL,
    Ruling.REFUTED,
    Ruling.UNKNOWN_KEY,
    Ruling.NO_EFFECT,
    Ruling.CHANGES_YARDSTICK,
    Ruling.SUPPORTED,
    Ruling.UNTESTED,
)
SPOKEN = {
    Ruling.HARMFUL: "harmful",
    Ruling.REFUTED: "refuted",
    Ruling.UNKNOWN_KEY: "unknown key",
    Ruling.NO_EFFECT: "no effect",
    Ruling.CHANGES_YARDSTICK: "changes the yardstick",
    Ruling.SUPPORTED: "supported",
    Ruling.UNTESTED: "untested",
}


def summary(review: Review) -> str:
    """One sentence about all claims."""
    if not review.claims:
        return "No proposed change and no figure of a series was found."
    counted = [f"{review.counts[one.value]} {SPOKEN[one]}" for one in ORDER if review.counts.get(one.value)]
    number = len(review.claims)
    return f"{number:,} {'claim' if number == 1 else 'claims'}: {', '.join(counted)}."


def change_in_words(change: Change) -> str:
    """What a claim is about: `optim.lr: 0.003 to 5e-05`."""
    if change.kind is Kind.CHECKPOINT:
        return f"go back to step {change.to}"
    if change.kind is Kind.SOURCE:
        return "change of source"
    if change.kind is Kind.SERIES:
        return f"{change.key}: {change.to}"
    towards = {"up": "higher", "down": "lower"}.get(change.direction, "changed")
    wanted = change.to or towards
    return f"{change.key}: {change.now} to {wanted}" if change.now else f"{change.key}: {wanted}"


def is_objection(ruling: Ruling) -> bool:
    """Whether a ruling speaks against the document."""
    return ruling in OBJECTIONABLE
