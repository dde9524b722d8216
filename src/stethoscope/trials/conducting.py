"""run_trial: every arm on every seed, kept as it comes, and judged in the end.

Runs are made seed by seed, all arms of a seed together, so that a trial that is cut short has whole pairs.
What is stored already is not made again. Three rules end something early, and none looks at which arm is
ahead, so none favours an arm:

    a run whose loss or metric is not finite any more is stopped, and counts as a failed run
    an arm of which the first three runs took too long, or too much memory, is not run further
    a trial whose first runs all broke, or left no metric, is ended with what they said
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from stethoscope.errors import StethoscopeError, UnwritableFile
from stethoscope.run.proof import RESULT
from stethoscope.trials.arms import arms_of, changes_in
from stethoscope.trials.backend import Backend
from stethoscope.trials.edits import Edited, edited, edited_files, placebo_for
from stethoscope.trials.judging import judge
from stethoscope.trials.local import LocalProcesses, usual_slots
from stethoscope.trials.projects import Plan, Snapshot, hashes, links_changed, planned, taken
from stethoscope.trials.running import Job, search_path
from stethoscope.trials.scores import broken_arms
from stethoscope.trials.store import FINAL, RESULTS, WORK, opened, store, stored, write_whole
from stethoscope.trials.trial import Arm, Ending, Outcome, Trial, TrialResult, Variable
from stethoscope.trials.trial_json import rendered

USELESS_RUNS = 3  # of an arm, its first ones
HOPELESS_TRIAL = 2  # runs, all of them without anything to judge
WAIT_SECONDS = 0.2
PICTURE = "trial.svg"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a trial is: runs stored before, done by this call, going on, and all of them."""

    stored: int
    done: int
    running: tuple[str, ...]
    total: int
    last: Outcome | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A trial with everything decided that needs no run: its arms, their edits and the keys of their runs."""

    trial: Trial
    arms: tuple[Arm, ...]
    plan: Plan
    edits: Mapping[str, Edited]
    keys: Mapping[tuple[str, int], str]
    files: Mapping[str, str]
    base: Edited = field(default_factory=Edited)


def run_trial(
    trial: Trial,
    backend: Backend | None = None,
    progress: Callable[[Progress], None] = lambda _: None,
    keep: bool = False,
) -> TrialResult:
    """Run what is not stored yet, judge everything, and write `trial.json`.

    Raises StethoscopeError where an edit does not fit, nothing can be written, or the first runs show that
    none will have a score. Results that are stored stay, whatever happens.
    """
    prepared = prepare(trial)
    trial = prepared.trial
    with opened(trial.folder) as results:
        outcomes = _known(prepared, stored(results))
        notes: list[str] = []
        missing = [pair for pair in prepared.keys if pair not in outcomes]
        if missing:
            work = results / WORK
            shutil.rmtree(work, ignore_errors=True)  # of a trial that was killed
            runner = backend or LocalProcesses(usual_slots(), work)
            try:
                notes += _conduct(prepared, runner, results, work, outcomes, missing, progress, keep)
            finally:
                runner.stop()
                if not keep:
                    shutil.rmtree(work, ignore_errors=True)
        result = _judged(prepared, outcomes, notes)
        write_whole(trial.folder / RESULT, rendered(result))
    return result


def prepare(trial: Trial) -> Prepared:
    """Decide everything that needs no run; raises StethoscopeError where something does not fit."""
    _must_make_sense(trial)
    placebo = trial.placebo or placebo_for(trial.changes, trial.config)
    trial = replace(trial, placebo=placebo)
    arms = arms_of(trial)
    needed = edited_files(trial.base, (*trial.changes, placebo), trial.config)
    plan = planned(trial.project, trial.linked, (*trial.left_out, *_own(trial)), trial.files, needed)

    def read(file: str) -> bytes | None:
        try:
            return (trial.project / file).read_bytes() if file in plan.copied else None
        except OSError:
            return None

    base = edited(read, trial.command, trial.base, (), trial.config)
    edits = {
        arm.name: edited(read, trial.command, trial.base, changes_in(trial, arm), trial.config)
        for arm in arms
    }
    _must_differ(arms, edits)
    project = hashes(plan)
    keys = {
        (arm.name, seed): _key(trial, project, edits[arm.name], seed) for seed in trial.seeds for arm in arms
    }
    return Prepared(trial, arms, plan, edits, keys, project, base)


def known_outcomes(prepared: Prepared) -> dict[tuple[str, int], Outcome]:
    """The results that are stored and need not be made again."""
    return _known(prepared, stored(prepared.trial.folder / RESULTS))


# --- before ---------------------------------------------------------------------------------------------


def _must_make_sense(trial: Trial) -> None:
    if not trial.changes:
        raise StethoscopeError("there is nothing to try: no change was given, and none is prescribed.")
    if not trial.command:
        raise StethoscopeError("there is nothing to run: give the training command behind --.")
    if not trial.seeds:
        raise StethoscopeError("a trial needs at least one seed.")
    if not trial.project.is_dir():
        raise StethoscopeError(f"{trial.project} is no folder.")
    twice = [name for name, count in Counter(change.name for change in trial.changes).items() if count > 1]
    if twice:
        raise StethoscopeError(f"two changes are called {twice[0]}.")
    if trial.steps is None and any("{steps}" in word for word in trial.command):
        raise StethoscopeError("the command has {steps}, and no number of steps is given.")
    if not trial.config and any("{config}" in word for word in trial.command):
        raise StethoscopeError("the command has {config}, and no settings file is given.")
    _must_be_found(trial)


def _must_be_found(trial: Trial) -> None:
    program = trial.command[0]
    if "{" in program:
        return
    path = next((one.value for one in trial.base if isinstance(one, Variable) and one.name == "PATH"), None)
    inside = os.sep in program and (trial.project / program).exists()
    if not inside and shutil.which(program, path=path or search_path()) is None:
        raise StethoscopeError(
            f"{program}: no such command. It is looked for in {trial.project} and in PATH."
        )


def _must_differ(arms: Sequence[Arm], edits: Mapping[str, Edited]) -> None:
    """Refuse a change that leaves everything as it is: its verdict would be about nothing."""
    sick = edits[arms[0].name]
    for arm in arms[1:]:
        if len(arm.changes) == 1 and edits[arm.name] == sick:
            raise StethoscopeError(f"the change {arm.changes[0]} changes nothing.")


def _own(trial: Trial) -> list[str]:
    """What trials leave in the project, where results are kept inside it."""
    own = [trial.folder / name for name in (RESULT, RESULTS, PICTURE)]
    return [str(path.relative_to(trial.project)) for path in own if path.is_relative_to(trial.project)]


def _key(trial: Trial, project: Mapping[str, str], changed: Edited, seed: int) -> str:
    """A hash of everything that a run depends on, as far as it is ours to know."""
    files = dict(project)
    for name, content in changed.files.items():
        files[name] = "" if content is None else hashlib.sha256(content).hexdigest()
    told = {
        "files": sorted(files.items()),
        "command": changed.command,
        "variables": sorted(changed.variables.items()),
        "seed": seed,
        "steps": trial.steps,
        "config": trial.config,
        "run": trial.run,
        "seed_variable": trial.seed_variable,
        "evaluate": trial.evaluate,
        "metric": (trial.metric.name, trial.metric.goal, trial.metric.reading),
    }
    return hashlib.sha256(json.dumps(told).encode("utf-8", errors="backslashreplace")).hexdigest()


def _known(prepared: Prepared, results: Mapping[str, Outcome]) -> dict[tuple[str, int], Outcome]:
    """The stored results of this trial, each under the arm and seed that it is of here."""
    found = {}
    for (arm, seed), key in prepared.keys.items():
        outcome = results.get(key)
        if outcome is not None and outcome.ending in FINAL:
            found[arm, seed] = replace(outcome, arm=arm, seed=seed)
    return found


# --- the runs -------------------------------------------------------------------------------------------


def _conduct(
    prepared: Prepared,
    backend: Backend,
    results: Path,
    work: Path,
    outcomes: dict[tuple[str, int], Outcome],
    missing: list[tuple[str, int]],
    progress: Callable[[Progress], None],
    keep: bool,
) -> list[str]:
    """Make the missing runs; `outcomes` grows by each. Gives what a reader should know."""
    limits = prepared.trial.limits
    deadline = time.monotonic() + 60 * limits.minutes if limits.minutes is not None else None
    snapshot = _snapshot(prepared, work)
    backend.prepare(snapshot)
    known, total = len(outcomes), len(prepared.keys)
    waiting, running = list(missing), set[tuple[str, int]]()
    made: list[Outcome] = []
    notes: list[str] = []
    late = False
    while (waiting and not late) or running:
        while waiting and not late and len(running) < backend.slots:
            arm, seed = waiting.pop(0)
            if _is_hopeless(arm, outcomes):
                outcomes[arm, seed] = _skipped(arm, seed, prepared)
                continue
            backend.start(_job(prepared, arm, seed, deadline, keep))
            running.add((arm, seed))
        progress(Progress(known, len(made), _spoken(running), total, made[-1] if made else None))
        for ended in backend.wait(WAIT_SECONDS):
            late = late or (deadline is not None and time.monotonic() >= deadline)
            outcome = _cut_short(ended) if late and ended.ending is Ending.TIMED_OUT else ended
            running.discard((outcome.arm, outcome.seed))
            outcomes[outcome.arm, outcome.seed] = outcome
            made.append(outcome)
            if outcome.ending is not Ending.NOT_RUN:
                store(results, outcome)
            _must_have_hope(made, outcomes, prepared)
        late = late or (deadline is not None and time.monotonic() >= deadline)
    progress(Progress(known, len(made), (), total, made[-1] if made else None))
    if waiting:
        notes.append(
            f"{len(waiting)} of {total} runs were not made in {limits.minutes:g} minutes; call again."
        )
    if keep:
        notes.append(f"The copies of the project are kept in {work}.")
    if written := links_changed(snapshot.manifest, prepared.plan):
        notes.append(f"Something wrote into {', '.join(written[:3])}, which all runs share by a link.")
    return notes


def _snapshot(prepared: Prepared, work: Path) -> Snapshot:
    """The copy of the project that all runs are made of; what changed meanwhile is refused."""
    target = work / "project"
    try:
        target.mkdir(parents=True, exist_ok=True)
        snapshot = taken(prepared.plan, target)
    except OSError as problem:
        reason = (problem.strerror or str(problem)).lower()
        raise UnwritableFile(f"{prepared.trial.project} could not be copied to {target}: {reason}.") from None
    if changed := [name for name, state in snapshot.manifest.items() if prepared.files.get(name) != state]:
        raise StethoscopeError(f"{changed[0]} changed while the project was being copied; call again.")
    return snapshot


def _job(prepared: Prepared, arm: str, seed: int, deadline: float | None, keep: bool) -> Job:
    trial, changed = prepared.trial, prepared.edits[arm]
    limits = trial.limits
    left = max(deadline - time.monotonic(), 0.0) if deadline is not None else None
    seconds = min((limit for limit in (limits.run_seconds, left) if limit is not None), default=None)
    seed_variable = {trial.seed_variable: str(seed)} if trial.seed_variable else {}
    words = {"seed": str(seed), "config": trial.config}
    if trial.steps is not None:
        words["steps"] = str(trial.steps)
    return Job(
        arm,
        seed,
        prepared.keys[arm, seed],
        changed.command,
        trial.metric,
        changed.files,
        {**changed.variables, **seed_variable},
        trial.run,
        trial.evaluate,
        prepared.base.files,
        {**prepared.base.variables, **seed_variable},
        words,
        limits.threads,
        seconds,
        limits.memory_bytes,
        keep,
    )


def _cut_short(outcome: Outcome) -> Outcome:
    """The outcome of a run that had no time left, which is nobody's fault."""
    return replace(outcome, ending=Ending.NOT_RUN, why="the time for the whole trial was over")


def _is_hopeless(arm: str, outcomes: Mapping[tuple[str, int], Outcome]) -> bool:
    ended = [outcome.ending for (of, _), outcome in outcomes.items() if of == arm]
    useless = (Ending.TIMED_OUT, Ending.OVER_MEMORY, Ending.NOT_RUN)
    return len(ended) >= USELESS_RUNS and all(ending in useless for ending in ended)


def _skipped(arm: str, seed: int, prepared: Prepared) -> Outcome:
    why = f"the first {USELESS_RUNS} runs of this arm took too long or too much memory"
    return Outcome(arm, seed, Ending.NOT_RUN, why=why, key=prepared.keys[arm, seed])


def _must_have_hope(
    made: Sequence[Outcome], outcomes: Mapping[tuple[str, int], Outcome], prepared: Prepared
) -> None:
    """End a trial of which every run so far gave nothing to judge, and say what the first one said."""
    nothing = (Ending.BROKEN, Ending.UNREADABLE, Ending.NOT_RUN)
    if len(made) < min(HOPELESS_TRIAL, len(prepared.keys)):
        return
    if any(outcome.ending not in nothing for outcome in outcomes.values()):
        return
    first = made[0]
    metric = prepared.trial.metric.name
    if first.ending is Ending.UNREADABLE:
        listed = ", ".join(first.names[:20]) or "nothing that Stethoscope can read as a log"
        raise StethoscopeError(
            f"{first.why}. The metric {metric} was looked for; what the run left has: {listed}."
        )
    said = " | ".join(line.strip() for line in first.tail[-3:] if line.strip())
    raise StethoscopeError(
        f"no run works: {first.arm}, seed {first.seed}: {first.why}. It said: {said or 'nothing'}"
    )


def _spoken(running: set[tuple[str, int]]) -> tuple[str, ...]:
    return tuple(f"{arm}, seed {seed}" for arm, seed in sorted(running))


# --- after ----------------------------------------------------------------------------------------------


def _judged(
    prepared: Prepared, outcomes: Mapping[tuple[str, int], Outcome], notes: Sequence[str]
) -> TrialResult:
    trial = prepared.trial
    ordered = [outcomes[pair] for pair in prepared.keys if pair in outcomes]
    complete = len(ordered) == len(prepared.keys) and all(one.ending.conclusive for one in ordered)
    said = [*_about_pairs(trial), *notes, *_about_endings(ordered)]
    return judge(trial, prepared.arms, ordered, said, complete)


def _about_pairs(trial: Trial) -> list[str]:
    takes = any("{seed}" in word for word in (*trial.command, *trial.evaluate)) or trial.seed_variable
    if takes:
        return []
    return ["The command is given no seed ({seed} or --seed-variable): its runs are paired only in name."]


def _about_endings(outcomes: Sequence[Outcome]) -> list[str]:
    broken = broken_arms(outcomes)
    silent = [one for one in outcomes if one.ending not in FINAL and one.arm not in broken]
    counted = Counter(one.ending for one in silent)
    return [
        f"{count} of {len(outcomes)} runs say nothing and are left out: {ending}. "
        + next(f"({one.arm}, seed {one.seed}: {one.why})" for one in silent if one.ending is ending)
        for ending, count in counted.items()
    ]
