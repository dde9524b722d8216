"""`stethoscope clinic`: sick training systems, their cures, and the proof that these work."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from stethoscope.clinic.case import Case
    from stethoscope.clinic.faultbench.asking_peers import Asked
    from stethoscope.clinic.faultbench.bench import Where
    from stethoscope.clinic.faultbench.label import Label
    from stethoscope.clinic.faultbench.measured import Measured
    from stethoscope.clinic.faultbench.opinion import Evidence, Opinion
    from stethoscope.clinic.visit import Visit
    from stethoscope.trials.trial import TrialResult

SIZES = ("ci", "small", "gpu")
SEEDS = 8  # five cannot reach p < .05


@click.group(
    "clinic",
    short_help="Train sick systems, diagnose and cure them.",
    epilog="\b\nExamples:\n  stethoscope clinic list\n  stethoscope clinic show protein-sedd",
)
def command() -> None:
    """Sick training systems, their cures, and the proof that these work.

    Each case is a small, real training in the shape of one that failed in public. Its faults are in its
    source and settings, and so are the things that were blamed for them.
    """


@command.command("list", epilog="\b\nExample:\n  stethoscope clinic list")
def list_() -> None:
    """List the cases: what is wrong with each, and how long a run takes."""
    from rich.table import Table

    from stethoscope.clinic.catalogue import cases

    table = Table(box=None, pad_edge=False)
    for name in ("case", "", "one run", "changes"):
        table.add_column(name, overflow="fold", justify="right" if name == "changes" else "left")
    for case in cases():
        size = next(size for size in case.sizes if size.name == "small")
        title = f"{case.title} (nothing is wrong)" if case.benign else case.title
        table.add_row(case.name, title, f"{size.seconds:g} s", str(len(case.changes)))
    _print(table)


@command.command("show", epilog="\b\nExample:\n  stethoscope clinic show nano-sr")
@click.argument("case")
def show(case: str) -> None:
    """Say what CASE is, what cures it, what was advised, and what trials found."""
    from stethoscope.clinic.catalogue import case_called
    from stethoscope.clinic.visit_text import told_of

    chosen = case_called(case)
    lines = [f"{chosen.name}: {chosen.title}"]
    for heading, texts in told_of(chosen):
        lines += ["", heading, *(_hanging(text) for text in texts)]
    lines += ["", f"Its source: {chosen.project}", f"See it: stethoscope clinic run {chosen.name}"]
    _put("\n".join(lines) + "\n")


@command.command(
    "run",
    epilog="\b\nExamples:\n  stethoscope clinic run nano-sr\n"
    "  stethoscope clinic run protein-sedd --size ci --into /tmp/visit",
)
@click.argument("case")
@click.option(
    "--size",
    type=click.Choice(SIZES),
    default="small",
    show_default=True,
    help="ci is over in seconds and shows less; gpu needs one.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="What the runs start from.")
@click.option(
    "--into",
    type=click.Path(file_okay=False),
    help="The folder for the runs and the pictures; by default clinic-CASE here.",
)
def run(case: str, size: str, seed: int, into: str | None) -> None:
    """Train CASE sick and cured, diagnose the sick run, apply what is prescribed, and show the curves.

    Needs torch: pip install 'stethoscope[clinic]'. The runs stay in the folder, as their user would find
    them: diagnose them yourself.
    """
    from stethoscope.clinic.catalogue import case_called, size_called
    from stethoscope.clinic.needs import must_have_needs
    from stethoscope.clinic.visit import visit

    chosen = case_called(case)
    of_size = size_called(chosen, size)
    must_have_needs(chosen)
    folder = Path(into or f"clinic-{chosen.name}").absolute()
    with _shown_runs(of_size.seconds) as told:
        seen = visit(chosen, of_size, seed, folder, told)
    _tell(seen, folder)


@command.command(
    "trial",
    epilog="\b\nExamples:\n  stethoscope clinic trial nano-sr --seeds 8\n"
    "  stethoscope clinic trial protein-sedd --only lower-sigma --size ci --seeds 2\n"
    "  stethoscope clinic trial nano-sr --only later-milestones --seeds 24 --first-seed 8",
)
@click.argument("case")
@click.option(
    "--size",
    type=click.Choice(SIZES),
    default="small",
    show_default=True,
    help="ci is over in minutes and decides little; gpu needs one.",
)
@click.option("--seeds", type=click.IntRange(min=1), default=SEEDS, show_default=True, help="Paired runs.")
@click.option(
    "--only",
    multiple=True,
    metavar="CHANGE",
    help="Only this change, beside all cures together; repeatable.",
)
@click.option(
    "--first-seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Begin with this seed: a second trial must not count the first one's runs again.",
)
@click.option("--jobs", type=click.IntRange(min=1), help="Runs at the same time.")
@click.option("--minutes", type=float, help="A limit for everything; call again to go on.")
@click.option(
    "--into",
    type=click.Path(file_okay=False),
    help="The folder for the results; by default clinic-CASE here.",
)
def trial(
    case: str,
    size: str,
    seeds: int,
    only: Sequence[str],
    first_seed: int,
    jobs: int | None,
    minutes: float | None,
    into: str | None,
) -> None:
    """Put every change of CASE to the test: the cures, what was advised, and what cannot act."""
    from stethoscope.clinic.catalogue import case_called
    from stethoscope.report.terminal import console
    from stethoscope.trials.trial_text import render

    chosen = case_called(case)
    folder = Path(into or f"clinic-{chosen.name}").absolute()
    paired = range(first_seed, first_seed + seeds)
    _put(render(_tried(chosen, size, paired, only, jobs, minutes, folder), console()))


@command.command(
    "bench",
    epilog="\b\nExamples:\n  stethoscope clinic bench\n"
    "  stethoscope clinic bench --tier full --into bench --jobs 8\n"
    "  stethoscope clinic bench --tier full --into bench --task gratings\n"
    "  stethoscope clinic bench --tier full --into bench --ray auto --peers peers",
)
@click.option(
    "--tier",
    type=click.Choice(("ci", "full")),
    default="ci",
    show_default=True,
    help="ci scores runs that are kept with Stethoscope; full makes thousands, and takes hours.",
)
@click.option("--task", "only", multiple=True, metavar="TASK", help="Only this training; repeatable.")
@click.option("--jobs", type=click.IntRange(min=1), help="Runs at the same time.")
@click.option("--into", type=click.Path(file_okay=False), help="The folder for the runs of the full bench.")
@click.option("--remake", is_flag=True, help="Make the kept runs anew instead of unpacking them.")
@click.option("--score-only", is_flag=True, help="Make nothing; score what is there.")
@click.option("--ray", metavar="ADDRESS", help="Make and diagnose on a Ray cluster; auto for the one around.")
@click.option(
    "--peers",
    type=click.Path(file_okay=False, exists=True),
    help="Ask other tools, too: a folder with a virtual environment for each, called as the tool.",
)
@click.option("--record", type=click.Path(dir_okay=False), help="Write all figures to this file.")
def bench(
    tier: str,
    only: Sequence[str],
    jobs: int | None,
    into: str | None,
    remake: bool,
    score_only: bool,
    ray: str | None,
    peers: str | None,
    record: str | None,
) -> None:
    """Measure how often Stethoscope is right: real trainings with known faults, and healthy ones.

    Call it again to go on where it was ended.
    """
    from tempfile import TemporaryDirectory

    from stethoscope.errors import StethoscopeError

    if tier == "full" and into is None:
        raise StethoscopeError(
            "the full bench makes thousands of runs; say where to keep them: --into FOLDER."
        )
    with TemporaryDirectory() as scratch:
        folder = Path(into or scratch).resolve()
        make = "nothing" if score_only else "kept" if tier == "ci" and not remake else tier
        _bench(make, only, jobs, folder, ray, peers, record)


def _bench(
    make: str,
    only: Sequence[str],
    jobs: int | None,
    folder: Path,
    ray: str | None,
    peers: str | None,
    record: str | None,
) -> None:
    from stethoscope.clinic.faultbench import bench, bench_text, measured, packing, plan
    from stethoscope.clinic.faultbench.opinion import Evidence
    from stethoscope.clinic.faultbench.task import tasks
    from stethoscope.errors import StethoscopeError
    from stethoscope.trials.local import usual_slots

    if unknown := [name for name in only if name not in tasks()]:
        raise StethoscopeError(f"there is no task {unknown[0]}; there are {', '.join(tasks())}.")
    slots = jobs or usual_slots()
    where = _where(ray, slots)
    if make == "kept":
        packing.unpack(packing.KEPT, folder)
    elif make != "nothing":
        chosen = plan.full(tasks().values()) if make == "full" else plan.small(tasks().values())
        with _counted("runs") as told:
            where.make_all([one for one in chosen if not only or one.task.name in only], folder, told)
    labels = [label for label in bench.labels_in(folder) if not only or label.task in only]
    said = {}
    for evidence in Evidence:
        with _counted(evidence.value) as told:
            said[evidence] = where.ask(labels, folder, evidence, told)
    bench.keep_opinions(said, folder / "opinions.jsonl")
    known = measured.joined(measured.recorded(), measured.measured_in(labels))
    results = bench.results(labels, said, known)
    _print(_table(bench_text.HEADINGS, bench_text.rows(results)))
    _put("\n".join(bench_text.goals(results)) + "\n")
    asked = _compare(labels, folder, Path(peers), slots, said, known) if peers else []
    if record:
        from stethoscope.clinic.faultbench.record import record_of, write

        write(record_of(labels, said, asked, known), Path(record))


def _where(ray: str | None, slots: int) -> Where:
    """This machine, or a cluster."""
    if ray is not None:
        from stethoscope.clinic.faultbench.ray_bench import RayBench

        return RayBench(ray)
    from stethoscope.clinic.faultbench.bench import ThisMachine

    return ThisMachine(slots)


def _compare(
    labels: Sequence[Label],
    folder: Path,
    peers: Path,
    slots: int,
    said: dict[Evidence, dict[str, Opinion]],
    known: Measured,
) -> list[Asked]:
    """Ask the peers, print how they compare, and give what they said."""
    from stethoscope.clinic.faultbench import asking_peers, comparing

    for how in asking_peers.missing(peers):
        click.echo(f"stethoscope: {how}", err=True)
    with _counted("peers") as told:
        asked = asking_peers.ask_peers(labels, folder, peers, slots, told)
    found = comparing.compared(labels, said, asked, known)
    _print(_table(comparing.SHORT, comparing.short_rows(found)))
    _put(comparing.LEGEND + "\n")
    return asked


def _table(headings: Sequence[str], rows: Iterator[tuple[str, ...]]) -> object:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for number, heading in enumerate(headings):
        table.add_column(heading, overflow="fold", no_wrap=number == 0)
    for row in rows:
        table.add_row(*row)
    return table


@contextmanager
def _counted(what: str) -> Iterator[Callable[[int, int, str], None]]:
    """A bar on standard error where somebody is watching, else nothing."""
    if not sys.stderr.isatty():
        yield lambda done, of, name: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, of, name: bar.update(task, completed=done, total=of, description=name)


def _tried(
    case: Case,
    size: str,
    seeds: range,
    only: Sequence[str],
    jobs: int | None,
    minutes: float | None,
    folder: Path,
) -> TrialResult:
    from dataclasses import replace

    from stethoscope.cli._trial_progress import shown_progress
    from stethoscope.clinic.as_trial import as_trial
    from stethoscope.clinic.catalogue import size_called
    from stethoscope.clinic.needs import must_have_needs
    from stethoscope.errors import StethoscopeError
    from stethoscope.trials.conducting import run_trial
    from stethoscope.trials.local import LocalProcesses, usual_slots
    from stethoscope.trials.store import RESULTS, WORK
    from stethoscope.trials.trial import Limits

    must_have_needs(case)
    known = {change.name for change in case.changes}
    if unknown := [name for name in only if name not in known]:
        raise StethoscopeError(f"{case.name} has no change {unknown[0]}; see stethoscope clinic show.")
    asked = as_trial(case, size_called(case, size), folder, seeds, only)
    asked = replace(asked, limits=Limits(minutes=minutes))
    with shown_progress() as progress:
        backend = LocalProcesses(jobs or usual_slots(), folder / RESULTS / WORK)
        return run_trial(asked, backend, progress)


@contextmanager
def _shown_runs(seconds: float) -> Iterator[Callable[[tuple[str, ...]], None]]:
    """A bar for each run on standard error where somebody is watching, else nothing."""
    if not sys.stderr.isatty():
        yield lambda running: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:<14}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def tell(running: tuple[str, ...]) -> None:
            for name in running:
                if name not in tasks:
                    tasks[name] = bar.add_task(name, total=None if name == "diagnosis" else 2 * seconds)
            for name, task in tasks.items():
                if name not in running:
                    bar.update(task, total=1.0, completed=1.0)
                elif (total := bar.tasks[task].total) is not None:
                    # How long it takes is only known from another machine: the bar slows down at its end.
                    spent = bar.tasks[task].elapsed or 0.0
                    bar.update(task, completed=total * spent / (spent + 0.5 * total))

        yield tell


def _tell(seen: Visit, folder: Path) -> None:
    from stethoscope.clinic.visit_page import write
    from stethoscope.clinic.visit_picture import picture
    from stethoscope.clinic.visit_text import summary
    from stethoscope.figures import terminal
    from stethoscope.report.terminal import ascii_only, console

    target = console()
    drawn = picture(seen)
    encoding = "ascii" if ascii_only(target) else "utf-8"
    colour = target.color_system is not None
    text = terminal.render(drawn, target.width, encoding=encoding, colour=colour)
    written = write(seen, drawn, folder)
    lines = [*summary(seen), "", *(f"wrote {path}" for path in written)]
    lines.append(f"Ask for the whole diagnosis: stethoscope {seen.first.run}")
    _put(text + "\n" + "\n".join(lines) + "\n")


def _hanging(text: str) -> str:
    """A paragraph or an item of a list, broken where the terminal ends and set in."""
    from textwrap import fill

    from stethoscope.report.terminal import console

    later = "    " if text.startswith("- ") else "  "
    return fill(text, console().width, initial_indent="  ", subsequent_indent=later)


def _print(shown: object) -> None:
    from stethoscope.report.terminal import console

    target = console()
    with target.capture() as captured:
        target.print(shown)
    _put(captured.get())


def _put(text: str) -> None:
    from stethoscope.cli._stdout import prepare, put

    prepare(None)
    put(text)
