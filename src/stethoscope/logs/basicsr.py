r"""Text logs of BasicSR and its family: Real-ESRGAN, traiNNer-redux, neosr, KAIR.

    2024-10-18 20:22:34,531 INFO: [finet..][epoch:104, iter:   6,500, lr:(1.000e-04,)] [eta: 2 days, 7:18, \
time (data): 0.486 (0.057)] l_g_pix: 2.8700e-02 l_g_percep: 5.0487e+00
    2025-12-17 15:28:02,522 INFO: [epoch:   0, iter:     100, lr:(2.000e-05)] [performance: 26.101 it/s] \
[eta: 0:12:00] [peak VRAM: 1.71 GB] l_g_l1: 3.1351e-02 l_g_total: 3.4049e-02 scale_g: 6.5536e+04
    2025-12-18 02:03:28,659 INFO: Validation CC0_147k_Val
         # psnr : 35.3349        Best: 35.3381 @    56,000 iter

Who logs each score by itself has `INFO: \t # psnr: 35.3349`, with or without a line before it that names a
set. A validation record names no step but the best one's, so its step is that of the last iteration line. The
settings are dumped at the top, as YAML or as an indented listing, and are kept as a `Document`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from stethoscope.errors import UnreadableFile
from stethoscope.logs._reading.clock import stamp_in_name
from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import LAST_STEP, NUMBER, PLAIN_NUMBER, number
from stethoscope.logs._reading.points import Points
from stethoscope.logs._text.dumped_settings import settings_in
from stethoscope.logs._text.grammar import Place, StepLine
from stethoscope.logs._text.reading import TextReading
from stethoscope.run import Aggregation, Document, Log, Series
from stethoscope.run.names import canonical

FORMAT = "BasicSR text log"

_RECORD = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (?:DEBUG|INFO|WARNING|ERROR|CRITICAL): ?")
_INT = r"\d{1,3}(?:,\d{3})+|\d+"
_COUNTS = re.compile(
    rf"[\[<]\s*(?:epoch:\s*(?P<epoch>{_INT})\s*(?:,|\]\s*\[)\s*)?iter:\s*(?P<iter>{_INT})\s*[,\]>]"
)
_RATES = re.compile(r"lr:\s*\(?(?P<rates>[^)\]>]*)")
_TIMES = re.compile(r"time \(data\): (?P<step>[\d.]+) \((?P<data>[\d.]+)\)")
_SPEED = re.compile(r"perf(?:ormance)?: (?P<speed>[\d.,]+) it/s")
_PEAK = re.compile(r"peak VRAM: (?P<peak>[\d.]+) GB")
_PAIR = re.compile(rf"(?<![\w./-])([A-Za-z_][\w./-]*+)\s?:\s*({NUMBER})(?=[\s,\]]|$)")
_VALIDATION = re.compile(r"Validation (?P<set>[^\s,#]+)[\s,]*(?=#|$)")
_METRIC = re.compile(rf"#\s*(?P<name>[\w.+@-]+)\s*:\s*(?P<value>{NUMBER})")
_BEST = re.compile(r"Best(?: \w+)?:\s*\S+\s*@\s*(?P<iter>\d[\d,]*)\s*iter")
_BEGINS = re.compile(r"(?:Start|Resuming) training from epoch: [\d,]+, iter: (?P<iter>\d[\d,]*)")
_TOTAL = re.compile(r"^\s*(?:total_iter|niter):\s*(?P<total>\d[\d_,]*)", re.MULTILINE)
_TOTAL_LINE = re.compile(r"Total iters:\s*(?P<total>\d[\d,]*)")
_SPOKEN = {"step": "iter_time", "data": "data_time", "speed": "it/s", "peak": "peak_vram_gb"}
_MARKS = ("Version Information", "Start training from epoch", "total_iter:", "Resuming training from epoch")


def recognise(head: Head) -> float:
    """Iteration lines, or at least a start in the family's manner."""
    if head.binary or head.prose:
        return 0.0
    if _COUNTS.search(head.ends):
        return 0.95
    records = len(_RECORD.findall(head.text[:20_000]))
    return 0.6 if records > 1 and any(mark in head.text for mark in _MARKS) else 0.0


def begin(head: Head) -> _Reading:
    """Every iteration line, validation record, event and settings dump of the log."""
    return _Reading(head)


@dataclass(slots=True)
class _Reading:
    """The iteration lines are read by their shapes; all others are looked at one by one."""

    head: Head
    documents: list[Document] = field(default_factory=list)
    begins: int = 0
    total: int | None = None
    validating: str | None = None  # the validation set whose record is being read
    sets: list[str] = field(default_factory=list)
    held: list[str] | None = None  # the lines of a record that may be a settings dump
    held_from: int = 0
    held_step: int | None = None
    text: TextReading = field(init=False)

    def __post_init__(self) -> None:
        self.text = TextReading(
            self.head, FORMAT, _step_line, see=self._see, wanted=lambda _: True, keeps_settings=False
        )

    def take(self, data: bytes, last: bool) -> int:
        """Read the whole lines among these bytes."""
        return self.text.take(data, last)

    def _see(self, _: Points, at: int, line: str, step: int | None) -> bool:
        """Read one line that is no iteration line."""
        if self.held is not None and step != self.held_step:
            self._close()  # an iteration line stood between
        record = _RECORD.match(line)
        if record:
            self._close()
            self._open(at, line, line[record.end() :], step)
        elif self.held is not None:
            self.held.append(line)
        elif self.validating is not None and "#" in line:
            self._metrics(at, line, step)
        else:
            self._other(at, line, step)
        return True

    def log(self) -> Log:
        """What was read."""
        self._close()
        points, scanner = self.text.points, self.text.scanner
        if not points.steps and not scanner.found and not self.documents:
            raise UnreadableFile(f"{self.head.file}: looks like a {FORMAT}, but holds nothing to read")
        # traiNNer-redux and neosr print their speed, and means over the print interval.
        usual = Aggregation.WINDOW_MEAN if "it/s" in points.steps else Aggregation.INSTANT
        series = points.series(self.head.file, usual, names=self._validation_names())
        notes = () if points.steps else ("no iteration line: training did not begin",)
        return Log(
            self.head.file,
            FORMAT,
            (*series, *_summed_loss(series)),
            scanner.events(),
            tuple(self.documents),
            started=self.text.started or stamp_in_name(self.head.path.name),
            last_written=self.text.last or self.head.changed,
            total_steps=self.total,
            notes=(*notes, *self.text.notes()),
        )

    def _open(self, at: int, line: str, message: str, step: int | None) -> None:
        """Begin a record: of validation, of what may be the settings, or of a line of its own."""
        found = _VALIDATION.match(message)
        if found:
            self._validate(found["set"])
            self._metrics(at, message, step)
        elif _METRIC.match(message.lstrip()):  # each score in a record of its own
            self._validate(self.sets[-1] if self.sets else "val")
            self._metrics(at, message, step)
        elif not message.strip() or message[0] == "#" or re.match(r"[\w-]+:(?:\s|$)", message):
            self.held, self.held_from, self.held_step = [message], at, step
        else:
            self._other(at, line, step)

    def _validate(self, held_out: str) -> None:
        self.validating = held_out
        if held_out not in self.sets:
            self.sets.append(held_out)

    def _close(self) -> None:
        """End the record before: settings become a document, anything else is searched for events."""
        self.validating = None
        if self.held is None:
            return
        held, self.held = self.held, None
        document = settings_in(held, self.head.file, self.held_from)
        if document is None:
            for offset, line in enumerate(held):
                self._other(self.held_from + offset, line, self.held_step)
            return
        self.documents.append(document)
        said = _TOTAL.search(document.text)
        self.total = _int(said["total"]) if said else self.total

    def _other(self, at: int, line: str, step: int | None) -> None:
        if "rom epoch" in line and (begins := _BEGINS.search(line)):
            self.begins = _int(begins["iter"]) or 0
        if "Total iters" in line and (said := _TOTAL_LINE.search(line)):
            self.total = self.total or _int(said["total"])
        self.text.scanner.see(at, line, step)

    def _metrics(self, at: int, line: str, last: int | None) -> None:
        step = last or self.begins
        best = _BEST.search(line)
        if best:
            # A best that lies ahead of the last printed iteration can only be this one.
            step = max(step, _int(best["iter"]) or 0)
        for metric in _METRIC.finditer(line):
            value = number(metric["value"])
            if value is not None:
                self.text.points.add(f"{self.validating}/{metric['name']}", step, value, at)

    def _validation_names(self) -> dict[str, str]:
        """The first validation set speaks for the run; another one's metrics carry its name."""
        names = {}
        for at, held_out in enumerate(self.sets):
            for logged in self.text.points.steps:
                if logged.startswith(held_out + "/"):
                    metric = logged.removeprefix(held_out + "/")
                    names[logged] = canonical(f"val/{metric}" if at == 0 else f"val/{held_out}/{metric}")
        return names


def _step_line(line: str) -> StepLine | None:
    """Where an iteration line holds its values."""
    counts = _COUNTS.search(line) if "iter:" in line else None
    if counts is None:
        return None
    end = max(line.rfind("]"), line.rfind(">"))
    found = [("epoch", *counts.span("epoch"))] if counts["epoch"] else []
    found += _rates(line, counts.end() - 1)
    for pattern in (_TIMES, _SPEED, _PEAK):
        if named := pattern.search(line, counts.end(), end):
            found += [(_SPOKEN[name], *named.span(name)) for name in named.groupdict()]
    # The fork prints its losses in a group, [l_g_l1: 3.1e-02, l_g_total: 3.4e-02]; neosr each in one.
    found += [
        (pair[1], *pair.span(2))
        for pair in _PAIR.finditer(line, counts.end(), end)
        if pair[1].startswith("l_")
    ]
    found += [(pair[1], *pair.span(2)) for pair in _PAIR.finditer(line, end + 1)]
    by_name = {place[0]: place for place in found}
    placed = sorted(by_name.values(), key=lambda place: place[1])
    values = [place for before, place in pairwise([("", 0, 0), *placed]) if place[1] >= before[2]]
    return StepLine(tuple(values), counts.span("iter"))


def _rates(line: str, at: int) -> list[Place]:
    group = _RATES.search(line, at)
    if group is None:
        return []
    rates = re.finditer(PLAIN_NUMBER, group["rates"])
    start = group.start("rates")
    return [
        ("lr" if nth == 0 else f"lr/{nth}", start + rate.start(), start + rate.end())
        for nth, rate in enumerate(rates)
    ]


def _int(text: str) -> int | None:
    if len(text) > 24:
        return None
    value = int(text.replace(",", "").replace("_", ""))
    return value if value <= LAST_STEP else None


def _summed_loss(series: tuple[Series, ...]) -> tuple[Series, ...]:
    """The generator's loss where only its terms are logged: they are printed weighted, so they add up."""
    if any(s.name == "loss" for s in series):
        return ()
    terms = [s for s in series if s.logged_as.startswith("l_") and not s.logged_as.startswith("l_d_")]
    if not terms or any(not np.array_equal(s.steps, terms[0].steps) for s in terms):
        return ()
    values = np.sum([s.values for s in terms], axis=0)
    logged = " + ".join(s.logged_as for s in terms)
    first = terms[0]
    return (Series("loss", logged, first.steps, values, first.file, first.aggregation, first.axis),)
