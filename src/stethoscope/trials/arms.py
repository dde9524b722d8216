"""The arms of a trial: sick, cured, all fixes but one, each change alone, and the placebo."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stethoscope.trials.trial import Arm, Change, Role, Trial


def arms_of(trial: Trial) -> tuple[Arm, ...]:
    """Every arm once: where two would make the same changes, as with a single fix, one has both roles."""
    roles: dict[tuple[str, ...], list[Role]] = {}
    names: dict[tuple[str, ...], str] = {}
    for name, changes, role in _wanted(trial):
        roles.setdefault(changes, []).append(role)
        names.setdefault(changes, name)
    return tuple(Arm(names[changes], changes, tuple(roles[changes])) for changes in roles)


def arm_with(arms: Sequence[Arm], changes: Sequence[str]) -> Arm | None:
    """The arm in which exactly these changes are made."""
    return next((arm for arm in arms if set(arm.changes) == set(changes)), None)


def changes_in(trial: Trial, arm: Arm) -> tuple[Change, ...]:
    """The changes that an arm makes, in the order of the trial."""
    every = (*trial.changes, *([trial.placebo] if trial.placebo else []))
    return tuple(change for change in every if change.name in arm.changes)


def _wanted(trial: Trial) -> Iterator[tuple[str, tuple[str, ...], Role]]:
    cure = tuple(change.name for change in trial.cure)
    yield str(Role.SICK), (), Role.SICK
    if cure:
        yield str(Role.CURED), cure, Role.CURED
    for name in cure:
        yield f"without {name}", tuple(one for one in cure if one != name), Role.DROP
    for change in trial.changes:
        yield f"only {change.name}", (change.name,), Role.ADD
    if trial.placebo is not None:
        yield str(Role.PLACEBO), (trial.placebo.name,), Role.PLACEBO
