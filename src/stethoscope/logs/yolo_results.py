"""YOLOv3, v5 and v7's results.txt: a row for each epoch, without a header.

      1/59     1.39G   0.02313   0.01864  0.003201   0.04497         9       640    0.6781    0.5233 ...

After the epoch, the memory, the losses (box, object, class and their sum), the number of targets and the
image size come the results on held-out data: precision, recall, mAP at 0.5, mAP at 0.5 to 0.95 (in v3:
F1), and the same losses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from stethoscope.errors import UnreadableFile
from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import number
from stethoscope.logs._tables.blocks import Blocks
from stethoscope.logs._tables.table import Table
from stethoscope.run import Log

FORMAT = "YOLO results.txt"

_ROW = re.compile(r"\s*(\d{1,7})/(\d{1,7})\s+(\d+(?:\.\d+)?)([KMGT])((?:\s+[-+.\deEnaif]+){13})\s*")
NAMES = (
    *("train/box_loss", "train/obj_loss", "train/cls_loss", "train/loss", "targets", "img_size"),
    *("metrics/precision", "metrics/recall", "metrics/mAP_0.5", "metrics/mAP_0.5:0.95"),
    *("val/box_loss", "val/obj_loss", "val/cls_loss"),
)
_F1 = "metrics/F1"
_GIGABYTES = {"K": 1e-6, "M": 1e-3, "G": 1.0, "T": 1e3}
LINES_LOOKED_AT = 50
CLOSE = 0.02  # relative; both are printed with four digits


def recognise(head: Head) -> float:
    """Rows that begin with the epoch of how many, and the memory."""
    if head.binary or head.prose:
        return 0.0
    lines = [line for line in head.text.splitlines()[:LINES_LOOKED_AT] if line.strip()]
    rows = sum(_ROW.fullmatch(line) is not None for line in lines)
    return 0.95 if rows and 2 * rows > len(lines) else 0.0


def begin(head: Head) -> YoloResults:
    """Each column against the epoch."""
    return YoloResults(head, Blocks(head.encoding))


@dataclass(slots=True)
class YoloResults:
    """A results.txt being read."""

    head: Head
    blocks: Blocks
    rows: Table = field(default_factory=Table)
    epochs: int | None = None
    other: int = 0

    def take(self, data: bytes, last: bool) -> int:
        """Read the whole lines among these bytes."""
        taken, block = self.blocks.cut(data, last)
        for line in block.decode("utf-8", errors="replace").split("\n") if block else ():
            self._take_line(line)
            self.blocks.line += 1
        self.blocks.line -= bool(block)
        return taken

    def log(self) -> Log:
        """What was read so far."""
        if not self.rows.rows:
            raise UnreadableFile(f"{self.head.file}: no row of results in it")
        found = self._named().reading(self.head.file)
        notes = found.notes
        if self.other:
            notes = (*notes, f"{self.other} lines are no rows of results and were passed over")
        return Log(
            self.head.file,
            FORMAT,
            found.series,
            last_written=self.head.changed,
            total_steps=self.epochs,
            notes=notes,
        )

    def _take_line(self, line: str) -> None:
        found = _ROW.fullmatch(line[:1000])
        if found is None:
            self.other += bool(line.strip())
            return
        epoch, last, memory, unit, cells = found.groups()
        self.epochs = int(last) + 1
        values = [
            (name, value)
            for name, cell in zip(NAMES, cells.split(), strict=True)
            if (value := number(cell)) is not None
        ]
        used = ("gpu_mem", float(memory) * _GIGABYTES[unit])
        self.rows.add([("epoch", float(epoch)), used, *values], self.blocks.line)

    def _named(self) -> Table:
        """The table with the fourth result under its name: v3 wrote F1 where the later ones write mAP."""
        columns = self.rows.columns()
        wanted = ("metrics/precision", "metrics/recall", NAMES[9])
        if not all(name in columns and len(columns[name][1]) == self.rows.rows for name in wanted):
            return self.rows
        precision, recall, fourth = (columns[name][1] for name in wanted)
        with np.errstate(all="ignore"):
            f1 = 2 * precision * recall / (precision + recall)
            same = np.isclose(fourth, f1, rtol=CLOSE, atol=1e-3) | ~np.isfinite(f1)
        if not np.isfinite(f1).any() or not same.all():
            return self.rows
        renamed = Table(self.rows.rows, runs=self.rows.runs)
        for name, (places, values) in columns.items():
            renamed.add_block(_F1 if name == NAMES[9] else name, places, values)
        return renamed
