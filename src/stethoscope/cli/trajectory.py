"""`stethoscope trajectory RUN`: the healthy trajectory that the next run is held to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from stethoscope import Diagnosis
    from stethoscope.prescription.remedy import Edit
    from stethoscope.run import Run
    from stethoscope.trajectory import Basis

WRITTEN = 0


@click.command(
    "trajectory",
    short_help="Write the healthy trajectory that the next run is held to.",
    epilog="\b\nExamples:\n"
    "  stethoscope trajectory examples/nano-sr-cured\n"
    "  stethoscope trajectory examples/nano-sr --from examples/nano-sr-cured --out ~/runs/stethoscope.toml",
)
@click.argument("run", type=click.Path(), nargs=-1, required=True)
@click.option(
    "--from",
    "good",
    type=click.Path(),
    multiple=True,
    help="A run of the same recipe that went well; several, one a seed, make the bands sharper.",
)
@click.option("--out", type=click.Path(), help="The file to write; standard output where it is not given.")
@click.option("--force", is_flag=True, help="Overwrite the file where it exists.")
@click.option("--config", type=click.Path(), help="The settings file to use instead of those found.")
@click.option("--code", type=click.Path(), help="The source, a file or folder, to use instead of that found.")
def command(
    run: Sequence[str],
    good: Sequence[str],
    out: str | None,
    force: bool,
    config: str | None,
    code: str | None,
) -> int:
    """Write what the next run of RUN's recipe is held to, as a commented TOML file made for editing.

    Bands come from the runs given by --from; without them from RUN itself, which is diagnosed first: of a
    sick run only what lies before its trouble counts, and how its curves would have gone on is forecast. The
    learning rate, the phases and the loss of guessing come from the recipe. What cannot be forecast honestly
    is listed with the reason, and nothing is held to it.

    Exit status: 0 written; 2 nothing could be read, or the file could not be written.
    """
    from stethoscope.cli._output import refuse_to_overwrite, written_whole
    from stethoscope.cli._paths import expanded, must_exist
    from stethoscope.cli._patience import patience
    from stethoscope.cli._stdout import prepare, put
    from stethoscope.report.clean_text import one_line
    from stethoscope.trajectory import plan, written

    paths = expanded(run)
    for given in filter(None, (config, code, *good)):
        must_exist(given)
    if out is not None and not force:
        refuse_to_overwrite(out)
    with patience(f"reading {one_line(paths[0], 60)}"):
        text = written(plan(_basis(paths, good, config, code)))
    if out is None:
        prepare("utf-8")
        put(text)
        return WRITTEN
    with written_whole(out) as stream:
        stream.write(text.encode("utf-8"))
    put(
        f"{one_line(out)} written; hold the next run to it: stethoscope check RUN --against {one_line(out)}\n"
    )
    return WRITTEN


def _basis(paths: Sequence[str], good: Sequence[str], config: str | None, code: str | None) -> Basis:
    from stethoscope import diagnose
    from stethoscope.read import read
    from stethoscope.trajectory import Basis

    if good:
        return Basis(read(paths, config, code), [_healthy(path) for path in good])
    return basis_of(diagnose(paths, config=config, code=code))


def _healthy(path: str) -> Run:
    from stethoscope.errors import NothingToRead
    from stethoscope.read import read

    run = read(path)
    if not run.series:
        raise NothingToRead(f"{path} holds no curves, so nothing can be held to it.")
    return run


def basis_of(diagnosis: Diagnosis, made: Sequence[Edit] = ()) -> Basis:
    """What of a diagnosed run the next one can be held to, once these edits are made."""
    from stethoscope.prescription.applying.next_run import changes_the_rate, next_run

    basis = _basis_as_it_is(diagnosis)
    if any(edit.kind == "source" for edit in made):
        why = basis.nothing_healthy or "the source that is prescribed may give it another level"
        basis = replace(basis, until=None, nothing_healthy=why)
    doubted = {*basis.doubted, "lr"} if changes_the_rate(basis.run, made) else basis.doubted
    return replace(basis, run=next_run(basis.run, made), doubted=doubted)


def _basis_as_it_is(diagnosis: Diagnosis) -> Basis:
    from stethoscope.causes.verdict import Verdict, stands
    from stethoscope.trajectory import Basis

    run = diagnosis.run
    if diagnosis.verdict in {Verdict.HEALTHY, Verdict.AT_RISK} or not diagnosis.explanation.symptoms:
        return Basis(run)
    standing = [cause for cause in diagnosis.explanation.causes if stands(cause)]
    findings = [found.finding for found in diagnosis.explanation.symptoms]
    doubted = {place.series for finding in findings for place in finding.places if place.series}
    onsets = [finding.onset for finding in findings if finding.onset is not None]
    first = run.steps[0] if run.steps is not None else 0
    if standing and any(cause.onset is None or cause.onset <= first for cause in standing):
        title = standing[0].entry.cause.title
        return Basis(
            run, doubted=doubted, nothing_healthy=f"no part of the run was healthy: {_lowered(title)}"
        )
    until = min([*(cause.onset for cause in standing if cause.onset is not None), *onsets], default=None)
    if until is None or until <= first:
        return Basis(
            run, doubted=doubted, nothing_healthy="nothing says from which step on the run went wrong"
        )
    return Basis(run, until=until, doubted=doubted)


def _lowered(title: str) -> str:
    return title[:1].lower() + title[1:] if title[1:2].islower() else title
