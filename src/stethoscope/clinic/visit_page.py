"""The page and the picture that a visit leaves behind."""

from __future__ import annotations

from pathlib import Path

from stethoscope.clinic.visit import Visit
from stethoscope.clinic.visit_picture import SPOKEN, score_of
from stethoscope.clinic.visit_text import causes, treatment
from stethoscope.errors import MissingExtra, UnwritableFile
from stethoscope.figures import html
from stethoscope.figures.chart import Figure
from stethoscope.figures.save import save
from stethoscope.report import text_report
from stethoscope.report.terminal import plain_console

PAGE, PICTURE, DRAWING = "visit.html", "visit.png", "visit.svg"
WIDTH = 100


def write(visit: Visit, drawn: Figure, folder: Path) -> tuple[Path, ...]:
    """Write the page and the picture, and say where; without the extra for PNG the picture is an SVG."""
    page = folder / PAGE
    try:
        page.write_text(_page(visit, drawn), encoding="utf-8")
    except OSError as problem:
        raise UnwritableFile(f"{page}: {problem.strerror or problem}.") from problem
    try:
        save(drawn, folder / PICTURE)
    except MissingExtra:
        save(drawn, folder / DRAWING)
        return page, folder / DRAWING
    return page, folder / PICTURE


def _page(visit: Visit, drawn: Figure) -> str:
    case = visit.case
    prescription = visit.diagnosis.prescription
    found, told = tuple(causes(visit)), (*treatment(visit), *prescription.advice)
    parts: list[html.Part] = [html.Text(case.story), drawn, _scores(visit)]
    parts += [html.Heading("What the diagnosis found"), html.Text(f"The run is {visit.diagnosis.verdict}.")]
    if found:
        parts.append(html.Table(("cause", "probability", "how it is known"), found))
    if told:
        parts += [html.Heading("What it prescribes"), html.Text("\n\n".join(told))]
    parts += [html.Code(edit.diff) for edit in prescription.edits]
    report = text_report.render(visit.diagnosis, plain_console(WIDTH))
    parts += [html.Heading("The whole diagnosis"), html.Code(report)]
    if case.exaggerated:
        parts.append(html.Heading("What was exaggerated to make it sick in minutes"))
        parts.append(html.Text("\n\n".join(case.exaggerated)))
    return html.render(f"{case.name}: {case.title}", parts)


def _scores(visit: Visit) -> html.Table:
    metric = visit.case.metric
    rows = [
        (SPOKEN[one.name], score_of(one, metric), "" if (own := one.outcome.own) is None else f"{own:.4g}")
        for one in visit.patients
    ]
    return html.Table(("run", f"{metric.name}, by the clinic", "by its own log"), tuple(rows))
