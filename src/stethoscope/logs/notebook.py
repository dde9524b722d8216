"""Jupyter notebooks: what their cells printed while they trained.

    {"cells": [{"cell_type": "code", "source": ["trainer.train()"],
                "outputs": [{"output_type": "stream", "name": "stdout", "text": ["step 10 loss 1.28\\n", ..]},
                            {"output_type": "display_data", "data": {"text/html": ["<table ..>"]}},
                            {"output_type": "error", "ename": "OutOfMemoryError", "traceback": [..]}]}],
     "nbformat": 4}

The text of a cell's outputs is read as any other log; a table in HTML (the Hugging Face Trainer's, fastai's)
becomes lines with tabs. Of several cells that trained, the last that gave a loss is read. Nothing is run, and
a notebook whose cells printed no training is a document.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from html.parser import HTMLParser
from typing import Any

from stethoscope.errors import UnreadableFile
from stethoscope.logs._reading.head import HEAD_BYTES, Head
from stethoscope.run import Log

FORMAT = "Jupyter notebook"

LARGEST = 64 << 20  # bytes of a notebook; pictures make them large
MOST_CELLS = 2_000
LONGEST_TABLE = 2 << 20  # characters of HTML that are searched for a table; charts are longer
FEWEST_POINTS = 2  # of a loss; one value is a result and no training


def recognise(head: Head) -> float:
    """A notebook with a cell that printed losses."""
    if not head.start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return 0.0
    if '"nbformat"' not in head.ends and not ('"cells"' in head.ends and '"output_type"' in head.ends):
        return 0.0
    try:
        return 0.95 if _trainings(head) else 0.0
    except (UnreadableFile, OSError):
        return 0.0


def read(head: Head) -> Log:
    """The last cell that gave a loss."""
    trainings = _trainings(head)
    if not trainings:
        raise UnreadableFile(f"{head.file}: a notebook whose cells printed no training")
    number, log = trainings[-1]
    notes = [f"the output of cell {number} ({log.format}); lines are counted in it"]
    others = [str(other) for other, _ in trainings[:-1]]
    if others:
        some = ", ".join(others[:5]) + (" and more" if len(others) > 5 else "")
        notes.append(f"cells before it gave losses, too, and were passed over: {some}")
    series = tuple(replace(one, lines=None) for one in log.series)
    return replace(log, format=FORMAT, series=series, notes=(*notes, *log.notes))


@lru_cache(maxsize=1)  # asked by `recognise` and by `read`
def _trainings(head: Head) -> tuple[tuple[int, Log], ...]:
    """The cells that gave a loss, by their number from 1, with what they printed as a log."""
    found = []
    for number, text in _printed(head):
        log = _log(text, head)
        if log is not None and _has_loss(log):
            found.append((number, log))
    return tuple(found)


def _log(text: str, head: Head) -> Log | None:
    """A cell's output as a log; None where no format takes it."""
    from stethoscope.logs import surest  # the formats are not known before all of them are imported

    data = text.encode("utf-8", errors="replace")
    # A name that is no document's; only readers that take bytes are used, so that nothing opens it.
    inside = Head(
        head.path.with_name(head.path.stem + ".log"),
        head.file,
        data[:HEAD_BYTES],
        len(data),
        data[HEAD_BYTES:][-HEAD_BYTES:],
        head.changed,
    )
    try:
        reader = surest(inside)
        if reader is None or not hasattr(reader, "begin"):
            return None
        reading = reader.begin(inside)
        reading.take(data, True)
        log: Log = reading.log()
        return log
    except (UnreadableFile, OSError):
        return None


def _has_loss(log: Log) -> bool:
    # A table without a counter is one of examples or of predictions.
    counted = [one for one in log.series if one.axis != "row" or "table" not in log.format]
    losses = [one for one in counted if one.name.startswith(("loss", "val/loss", "train/loss"))]
    return any(len(one) >= FEWEST_POINTS for one in losses)


# --- cells --------------------------------------------------------------------------------------------


def _printed(head: Head) -> Iterator[tuple[int, str]]:
    """The text of the outputs of every code cell that has some, with the number of the cell."""
    try:
        book = json.loads(head.whole(LARGEST).decode(head.encoding, errors="replace"))
    except (ValueError, RecursionError) as problem:
        raise UnreadableFile(f"{head.file}: a notebook that is no whole JSON document") from problem
    for number, cell in enumerate(_cells(book), 1):
        outputs = cell.get("outputs") if isinstance(cell, dict) else None
        text = "\n".join(_joined(outputs)) if isinstance(outputs, list) else ""
        if any(map(str.isdigit, text)):
            yield number, text
        if number >= MOST_CELLS:
            return


def _cells(book: Any) -> Iterator[Any]:
    """The cells; until version 3 they were in worksheets."""
    if isinstance(book, dict):
        sheets = book.get("worksheets")
        for holder in [book, *(sheets if isinstance(sheets, list) else [])]:
            cells = holder.get("cells") if isinstance(holder, dict) else None
            yield from cells if isinstance(cells, list) else ()


def _joined(outputs: list[Any]) -> Iterator[str]:
    """The outputs of a cell; pieces of one stream that follow each other belong together."""
    stream = ""
    for output in outputs:
        if not isinstance(output, dict):
            continue
        if output.get("output_type") == "stream":
            stream += _text(output.get("text"))
            continue
        if stream:
            yield stream
            stream = ""
        yield _shown(output)
    if stream:
        yield stream


def _shown(output: dict[str, Any]) -> str:
    """What is displayed beside the streams: an error, a table or a text."""
    if output.get("output_type") in {"error", "pyerr"}:
        # Without its traceback, which quotes the source around each call.
        said = f"{_text(output.get('ename'))}: {_text(output.get('evalue'))}"
        return f'Traceback (most recent call last):\n  File "notebook"\n{said}'
    data = output.get("data")
    held: dict[str, Any] = data if isinstance(data, dict) else output
    html = _text(held.get("text/html", held.get("html")))
    if "<table" in html[:LONGEST_TABLE]:
        return _table_text(html[:LONGEST_TABLE])
    return _text(held.get("text/plain", held.get("text")))


def _text(held: Any) -> str:
    """A text that is written as one or as a list of its lines."""
    if isinstance(held, list):
        return "".join(piece for piece in held if isinstance(piece, str))
    return held if isinstance(held, str) else ""


def _table_text(html: str) -> str:
    """HTML as text, the cells of a table's row with tabs between them."""
    reader = _TableReader()
    try:
        reader.feed(html)
        reader.close()
    except (AssertionError, ValueError):  # broken markup declarations
        return ""
    return "\n".join(reader.lines)


@dataclass
class _TableReader(HTMLParser):
    """Collects the rows of tables and the text around them."""

    lines: list[str] = field(default_factory=list)
    row: list[str] | None = None
    silent: bool = False

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a row or a cell."""
        if tag == "tr":
            self.row = []
        elif tag in {"td", "th"} and self.row is not None:
            self.row.append("")
        elif tag in {"style", "script"}:
            self.silent = True

    def handle_endtag(self, tag: str) -> None:
        """End a row."""
        if tag == "tr" and self.row:
            self.lines.append("\t".join(self.row))
        self.row = None if tag in {"tr", "table"} else self.row
        self.silent = False if tag in {"style", "script"} else self.silent

    def handle_data(self, data: str) -> None:
        """Take in the text of a cell, or a line between tables."""
        text = " ".join(data.split())
        if self.silent or not text:
            return
        if self.row is None:
            self.lines.append(text)
        elif self.row:
            self.row[-1] += text
