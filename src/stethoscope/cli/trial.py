"""`stethoscope trial ... -- COMMAND`: which of the proposed changes really cures a training."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from stethoscope.cli._stderr import say
from stethoscope.cli._stdout import put_as
from stethoscope.errors import StethoscopeError

if TYPE_CHECKING:
    from stethoscope.trials import Change, Trial, TrialResult
    from stethoscope.trials.backend import Backend
    from stethoscope.trials.conducting import Prepared

DECIDED, OPEN = 0, 1
GIGABYTE = 1 << 30


@click.command(
    "trial",
    short_help="Try which of the proposed changes really cures a training.",
    epilog="\b\nExamples:\n"
    "  stethoscope trial --project examples/nano-sr --config examples/nano-sr/nano_sr.yml"
    " --edit optim_g.lr=1e-4 --metric val/psnr --dry-run -- python code/train.py -opt {config}",
)
@click.argument("command_line", metavar="COMMAND...", type=click.UNPROCESSED, nargs=-1, required=True)
@click.option("--metric", "metric_name", required=True, help="What a run is judged by, as its log calls it.")
@click.option(
    "--goal", type=click.Choice(["max", "min"]), help="Which is better, where the name does not say."
)
@click.option(
    "--reading",
    type=click.Choice(["tail", "last", "best"]),
    default="tail",
    show_default=True,
    help="The mean of the last tenth of the curve, its last value, or its best.",
)
@click.option(
    "--config", type=click.Path(), help="The settings file that --edit changes; {config} in COMMAND."
)
@click.option(
    "--edit",
    "edits",
    multiple=True,
    metavar="KEY=VALUE",
    help="A change: a setting of --config, or an option of COMMAND as --edit --lr=1e-4.",
)
@click.option("--patch", "patches", multiple=True, type=click.Path(), help="A change: a unified diff.")
@click.option(
    "--run",
    "run",
    type=click.Path(),
    help="The sick run: its prescribed edits are tried, results lie beside it.",
)
@click.option(
    "--project", type=click.Path(), default=".", help="The folder that is copied; here if not given."
)
@click.option("--seeds", type=click.IntRange(1, 1000), default=8, show_default=True, help="How many.")
@click.option("--seed-variable", metavar="NAME", help="An environment variable for the seed, beside {seed}.")
@click.option("--steps", type=click.IntRange(min=1), help="How long a run is: {steps} in COMMAND.")
@click.option("--minutes", type=click.FloatRange(min=0), help="The time for everything; call again to go on.")
@click.option("--timeout", type=click.FloatRange(min=0), metavar="SECONDS", help="The time for one run.")
@click.option("--jobs", type=click.IntRange(min=1), help="Runs at the same time; one for every two cores.")
@click.option(
    "--memory", type=click.FloatRange(min=0), metavar="GB", help="For one run; a share of what is free."
)
@click.option("--evaluate", metavar="COMMAND", help="Scores {run} from an untouched copy of the project.")
@click.option(
    "--run-folder", metavar="DIR", help="Where COMMAND leaves its run, where it is not given {run}."
)
@click.option("--margin", type=click.FloatRange(min=0), help="The largest difference that is no effect.")
@click.option("--bar", type=float, help="The score of a run that failed; else the worst start of any.")
@click.option("--link", multiple=True, metavar="PATH", help="Data to link instead of copying.")
@click.option("--leave-out", multiple=True, metavar="PATH", help="What a copy does not need.")
@click.option("--ray", metavar="ADDRESS", help="Make the runs on a Ray cluster; auto for the one around.")
@click.option("--keep", is_flag=True, help="Keep the copies of the project, to look into them.")
@click.option("--dry-run", is_flag=True, help="Show the arms and the time, and run nothing.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Text for people, JSON (schema 1) for programs.",
)
def command(command_line: Sequence[str], format_: str, dry_run: bool, **options: Any) -> int:
    """Try changes on a training command: each alone, all together, all but one, and a placebo.

    COMMAND, behind --, is run in copies of the project, never in the project itself. {config}, {seed},
    {steps} and {run} in it stand for the settings file, the seed, the number of steps and a folder for the
    run. Every arm is run on the same seeds, and each change is called necessary, sufficient, helpful, no
    effect, harmful, one that changes the yardstick, or undecided, by paired intervals. Without --edit and
    --patch, the edits are tried that `stethoscope diagnose` prescribes for --run.

    This executes your command. Results are kept in `trials` beside the run, one file each: a trial that was
    ended goes on where it stopped. The verdicts are in `trial.json`, which `diagnose` reads as proof, and
    drawn in `trial.svg`.

    Exit status: 0 every change is decided; 1 some are not, or runs are missing; 2 it could not be tried.
    """
    asked = _Asked(**options)
    trial, notes = _trial(asked, tuple(command_line))
    say(*notes)
    if dry_run:
        put_as(_planned(trial, asked.jobs), "text")
        return DECIDED
    result = _result(trial, asked)
    _draw(result)
    put_as(_rendered(result, format_), format_)
    return DECIDED if _all_decided(result) else OPEN


@dataclass(frozen=True, slots=True)
class _Asked:
    """The options, as click gives them."""

    metric_name: str
    goal: Literal["max", "min"] | None
    reading: str
    config: str | None
    edits: Sequence[str]
    patches: Sequence[str]
    run: str | None
    project: str
    seeds: int
    seed_variable: str | None
    steps: int | None
    minutes: float | None
    timeout: float | None
    jobs: int | None
    memory: float | None
    evaluate: str | None
    run_folder: str | None
    margin: float | None
    bar: float | None
    link: Sequence[str]
    leave_out: Sequence[str]
    ray: str | None
    keep: bool


# --- what is asked --------------------------------------------------------------------------------------


def _trial(asked: _Asked, command_line: tuple[str, ...]) -> tuple[Trial, list[str]]:
    from stethoscope.cli._paths import must_exist
    from stethoscope.trials import Limits, Metric, Reading, Trial
    from stethoscope.trials.local import cores, memory_for, usual_slots

    for given in filter(None, (asked.config, asked.run, asked.project)):
        must_exist(given)
    project = Path(os.path.abspath(asked.project))
    changes, notes = _changes(asked, project)
    jobs = asked.jobs or usual_slots()
    memory = int(asked.memory * GIGABYTE) if asked.memory else None if asked.ray else memory_for(jobs)
    trial = Trial(
        project.name,
        project,
        command_line,
        Metric(asked.metric_name, _goal(asked), Reading(asked.reading), bar=asked.bar),
        changes,
        _results_folder(asked, project),
        tuple(range(1, asked.seeds + 1)),
        config=_inside(asked.config, project, "--config") if asked.config else "",
        steps=asked.steps,
        run=asked.run_folder or "",
        seed_variable=asked.seed_variable or "",
        evaluate=tuple(shlex.split(asked.evaluate)) if asked.evaluate else (),
        linked=tuple(_inside(one, project, "--link") for one in asked.link),
        left_out=tuple(_inside(one, project, "--leave-out") for one in asked.leave_out),
        margin=asked.margin,
        limits=Limits(asked.minutes, asked.timeout, memory, max(1, cores() // jobs)),
    )
    return trial, notes


def _changes(asked: _Asked, project: Path) -> tuple[tuple[Change, ...], list[str]]:
    from stethoscope.trials.prescribed import change_patched, change_typed

    typed = [change_typed(one) for one in asked.edits]
    typed += [change_patched(Path(one)) for one in asked.patches]
    if any("=" in one and not one.startswith("-") for one in asked.edits) and not asked.config:
        raise StethoscopeError("--edit changes a settings file: give it with --config.")
    return (tuple(typed), []) if typed else _prescribed(asked, project)


def _prescribed(asked: _Asked, project: Path) -> tuple[tuple[Change, ...], list[str]]:
    from stethoscope import diagnose
    from stethoscope.cli._patience import patience
    from stethoscope.trials.prescribed import changes_prescribed

    target = asked.run or asked.project
    with patience(f"examining {target}"):
        diagnosis = diagnose(target, config=asked.config)
    changes, notes = changes_prescribed(diagnosis.prescription.edits, project)
    if not changes:
        why = f" {' '.join(notes)}" if notes else ""
        raise StethoscopeError(
            f"nothing is prescribed for {target} that could be tried.{why} "
            "Give --edit KEY=VALUE or --patch FILE."
        )
    return changes, notes


def _goal(asked: _Asked) -> Literal["max", "min"]:
    from stethoscope.run.names import better

    if asked.goal is not None:
        return asked.goal
    known = better(asked.metric_name)
    if known is None:
        raise StethoscopeError(f"is more or less {asked.metric_name} better? Give --goal max or --goal min.")
    return "max" if known == "higher" else "min"


def _results_folder(asked: _Asked, project: Path) -> Path:
    if asked.run is None:
        return project
    run = Path(os.path.abspath(asked.run))
    return run if run.is_dir() else run.parent


def _inside(path: str, project: Path, option: str) -> str:
    """A path as typed, or one inside the project, relative to it."""
    for base in (Path.cwd(), project):
        inside = os.path.relpath(os.path.join(base, path), project)
        if os.path.lexists(os.path.join(base, path)) and not inside.startswith(os.pardir):
            return inside.replace(os.sep, "/")
    raise StethoscopeError(f"{option} {path} is not in the project {project}; give --project.")


# --- what is done ---------------------------------------------------------------------------------------


def _result(trial: Trial, asked: _Asked) -> TrialResult:
    from stethoscope.cli._trial_progress import shown_progress
    from stethoscope.trials.conducting import run_trial

    with shown_progress() as progress:
        return run_trial(trial, _backend(trial, asked), progress, asked.keep)


def _backend(trial: Trial, asked: _Asked) -> Backend:
    from stethoscope.trials.local import LocalProcesses, usual_slots
    from stethoscope.trials.store import RESULTS, WORK

    if asked.ray is not None:
        from stethoscope.trials.ray_cluster import RayCluster

        return RayCluster(asked.ray, trial.limits.threads, asked.jobs)
    return LocalProcesses(asked.jobs or usual_slots(), trial.folder / RESULTS / WORK)


# --- what is told ---------------------------------------------------------------------------------------


def _planned(trial: Trial, jobs: int | None) -> str:
    """The arms, the copy, and the time, without a run."""
    from stethoscope.trials.conducting import known_outcomes, prepare
    from stethoscope.trials.local import usual_slots

    prepared = prepare(trial)
    known = known_outcomes(prepared)
    total = len(prepared.keys)
    slots = jobs or usual_slots()
    lines = [f"{len(prepared.arms)} arms on {len(trial.seeds)} seeds are {total} runs, {slots} at a time:"]
    lines += [f"  {arm.name}: {_spoken_arm(prepared, arm.name)}" for arm in prepared.arms]
    plan = prepared.plan
    size = f"{len(plan.copied):,} files, {plan.copied_bytes:,} bytes"
    lines.append(f"Each run has a copy of {os.path.relpath(trial.project)}: {size}.")
    if plan.linked:
        lines.append(f"Linked, and not to be written to: {_few(plan.linked)}.")
    if plan.left_out:
        lines.append(f"Left out: {_few(plan.left_out)}.")
    lines.append(_time(len(known), total, [one.seconds for one in known.values()], trial, slots))
    return "\n".join(lines) + "\n"


def _spoken_arm(prepared: Prepared, name: str) -> str:
    from stethoscope.trials.arms import changes_in

    arm = next(arm for arm in prepared.arms if arm.name == name)
    titles = [change.title or change.name for change in changes_in(prepared.trial, arm)]
    return "; ".join(titles) or "nothing changed"


def _few(names: Sequence[str]) -> str:
    from stethoscope.read import listed
    from stethoscope.report.clean_text import one_line

    return one_line(listed(names))


def _time(known: int, total: int, seconds: Sequence[float], trial: Trial, slots: int) -> str:
    left = total - known
    stored = f"{known} of {total} runs are stored already. " if known else ""
    if not left:
        return f"{stored}Nothing is left to run."
    if seconds:
        mean = sum(seconds) / len(seconds)
        return f"{stored}The rest takes about {_minutes(left * mean / slots)}, at {mean:.1f} s a run."
    if trial.limits.run_seconds is not None:
        return f"It takes at most {_minutes(left * trial.limits.run_seconds / slots)}."
    return "How long it takes is known once a run is stored: try --minutes first."


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"


def _draw(result: TrialResult) -> None:
    """The picture beside the verdicts; without one, the verdicts are still there."""
    from stethoscope.figures import svg
    from stethoscope.trials.conducting import PICTURE
    from stethoscope.trials.picture import picture
    from stethoscope.trials.store import write_whole

    try:
        write_whole(result.trial.folder / PICTURE, svg.render(picture(result)))
    except StethoscopeError as problem:
        say(str(problem))


def _rendered(result: TrialResult, format_: str) -> str:
    if format_ == "json":
        from stethoscope.trials.trial_json import rendered

        return rendered(result)
    from stethoscope.report.terminal import console
    from stethoscope.trials import trial_text

    return trial_text.render(result, console(widest=None))


def _all_decided(result: TrialResult) -> bool:
    from stethoscope.trials import Class

    return result.complete and all(Class.UNDECIDED not in one.classes for one in result.verdicts)
