"""Diagnoses made by hand, so that a report is tested without the rooms before it."""

from __future__ import annotations

import ast
import math

import numpy as np

from stethoscope.causes.cause import (
    Argument,
    BenignExplanation,
    Cause,
    CauseEntry,
    Explanation,
    RankedCause,
    Standing,
)
from stethoscope.causes.verdict import Verdict
from stethoscope.diagnose import Diagnosis
from stethoscope.findings import Examination, Finding, Found, NotExamined, RuleEntry, Severity, Subject
from stethoscope.prescription import CheckpointAdvice, Edit, Level, NotRecommended, Prescription
from stethoscope.run import (
    Checkpoint,
    ConfigFile,
    Holds,
    Log,
    Program,
    Recipe,
    Run,
    Segment,
    Series,
    Source,
    Unread,
    Where,
)
from stethoscope.signals.ending import Ending
from stethoscope.signals.missing import Missing

LOG = "runs/nano/train.log"
DIFF = """\
--- a/losses.py
+++ b/losses.py
@@ -40,3 +40,3 @@
     score = ssim(prediction, target)
-    return score
+    return 1 - score
"""

PSNR = (20.0, 24.5, 24.0, 23.0, 22.0, 21.0, 20.5)


def series(name: str, values: tuple[float, ...], every: int = 100) -> Series:
    steps = np.arange(len(values), dtype=np.int64) * every
    return Series(name, name, steps, np.array(values, dtype=np.float64), LOG)


def rule(code: str, name: str, family: str, severity: Severity = Severity.WARNING) -> RuleEntry:
    return RuleEntry(code, name, family, "0.1", severity, Subject.RUN, f"{name}.", f"{name}.", lambda: ())


SIMILARITY = rule("COD101", "similarity-minimised", "code", Severity.CRITICAL)
DECLINE = rule("VAL101", "peak-then-decline", "validation")
SCALE_HIGH = rule("AMP202", "loss-scale-high", "amp", Severity.NOTE)
SPIKE = rule("LOS101", "loss-spike", "loss")
NON_FINITE = rule("NUM101", "non-finite-values", "numerics", Severity.CRITICAL)


def cause(name: str, title: str, *, benign: bool = False) -> CauseEntry:
    return CauseEntry(name, Cause(title, -4.0, (), f"confirm {name}", benign), title, f"{title}.")


def run(*members: Series, unread: tuple[Unread, ...] = ()) -> Run:
    source = Source("losses.py", "losses", "", ast.parse(""))
    return Run(
        "runs/nano",
        "nano",
        (Log(LOG, "traiNNer text log", members),),
        {member.name: member for member in members},
        segments=(Segment(0, 600, LOG),),
        recipe=Recipe((), (ConfigFile("nano.yml", "", "run", changed_after_start=True),)),
        program=Program("runs/nano", (source,), "snapshot", maintained=False, changed_after_start=False),
        checkpoints=(Checkpoint("models/net_g_200.pth", 200, Holds.WEIGHTS, 10),),
        unread=unread,
    )


def healthy() -> Diagnosis:
    """Nothing found; one rule could not look."""
    improving = series("val/psnr", (20.0, 22.0, 23.0, 24.0, 24.5, 25.0, 25.2))
    return Diagnosis(
        run(improving, series("loss", (1.0, 0.5, 0.4, 0.3, 0.25, 0.2, 0.2))),
        Ending("finished", "the log says: End of training", Where(LOG, line=99)),
        Examination((), (DECLINE, SPIKE), (NotExamined(SCALE_HIGH, Missing("no scale", "log(scale)")),)),
        Explanation((), (), 0.88, 0.05, ()),
        Prescription(log_next_time=("log(scale)",)),
        Verdict.HEALTHY,
    )


def sick() -> Diagnosis:
    """A proved cause in the code, one that is ruled out, something benign, and a full prescription."""
    psnr = series("val/psnr", PSNR)
    fault = Finding(Where("losses.py", line=41), "SSIMLoss returns the similarity", proof="on (x, x) it is 1")
    decline = Finding(psnr.where(100, 600), "peaks at 24.5 and falls to 20.5", {"drop": 4.0}, onset=100)
    scale = Finding(Where(LOG, series="loss_scale", steps=(0, 600)), "the scale is 2^21: five doublings")
    found = (Found(SIMILARITY, fault), Found(DECLINE, decline), Found(SCALE_HIGH, scale))
    sign = RankedCause(
        cause("loss-sign-inverted", "A loss term has the wrong sign"),
        0.9987,
        Standing.PROVED,
        (
            Argument(6.0, "the source minimises a similarity", "similarity-minimised", "code", fault),
            Argument(0.5, "the metric declines", "peak-then-decline", "validation", decline),
        ),
        (Argument(-0.5, "the loss falls smoothly", "loss-spike", "loss"),),
        onset=100,
    )
    rate = RankedCause(
        cause("learning-rate-too-high", "The learning rate is too high"),
        0.02,
        Standing.CONTRADICTED,
        (),
        (Argument(-3.0, "the loss never spikes", "loss-spike", "loss"),),
    )
    harmless = BenignExplanation(
        cause("loss-scale-high", "A high loss scale", benign=True), 0.97, (found[2],), scale.message
    )
    return Diagnosis(
        run(psnr, series("loss", (1.0, 0.5, 0.4, 0.3, 0.25, 0.2, 0.2))),
        Ending("finished", "the log says: End of training", Where(LOG, line=99)),
        Examination(found, (SPIKE,), (NotExamined(NON_FINITE, Missing("no gradient norm", "log(norm)")),)),
        Explanation((sign, rate), (harmless,), 0.001, 0.047, found[:2]),
        Prescription(
            CheckpointAdvice("models/net_g_200.pth", 200, "the last one before the fall", ("the optimiser",)),
            "",
            (
                Edit(
                    "return-a-distance",
                    ("loss-sign-inverted",),
                    "losses.py",
                    "source",
                    Level.SAFE,
                    DIFF,
                    "clinic trial nano-sr",
                ),
            ),
            ("apply the diff", "train again"),
            ("val/psnr rises past 24.5",),
            ("log(norm)",),
            (NotRecommended("switch to bf16", "nothing overflows", (Where("nano.yml", line=3),)),),
        ),
        Verdict.SICK,
    )


def unknown() -> Diagnosis:
    """A spike that no cause accounts for."""
    loss = series("loss", (1.0, 0.9, 9.0, 0.8, 0.8, 0.7))
    spike = Found(SPIKE, Finding(loss.where(200), "the loss jumps to 9", onset=200))
    return Diagnosis(
        run(loss),
        Ending("unknown", "nothing in the logs says how the run ended"),
        Examination((spike,), (), ()),
        Explanation((), (), 0.1, 0.7, (spike,)),
        Prescription(checkpoint_note="No checkpoint was saved before step 200."),
        Verdict.UNKNOWN,
    )


HOSTILE = "\x1b[2J\x1b]0;owned\x07[red]bold[/red]\n\r\u202egnp.exe\u2028\udcff\x9b31m" + "A" * 1_000_000


def hostile() -> Diagnosis:
    """Escapes, markup, line breaks and megabytes wherever a stranger's text can stand."""
    loss = series("loss\x1b[31m", (1.0, math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324))
    found = Found(
        NON_FINITE,
        Finding(
            (Where(HOSTILE, line=1), Where(HOSTILE, series=HOSTILE, steps=(0, 1))),
            HOSTILE,
            {
                HOSTILE: HOSTILE,
                "values": np.array([math.nan, 1.0]),
                "worst": np.float32("inf"),
                "n": np.int64(3),
            },
            onset=100,
        ),
    )
    made = Run(
        HOSTILE,
        HOSTILE,
        (Log(HOSTILE, "CSV table", (loss,), notes=(HOSTILE,)),),
        {loss.name: loss},
        unread=(Unread(HOSTILE, HOSTILE),),
    )
    edit = Edit(
        "remedy", ("unknown",), HOSTILE, "source", Level.DISPLAY, f"+{HOSTILE}\n-\t\x1b[0m\n", "unproved"
    )
    return Diagnosis(
        made,
        Ending("traceback", HOSTILE, Where(HOSTILE, line=2)),
        Examination((found,), (), (NotExamined(SPIKE, Missing(HOSTILE, HOSTILE)),)),
        Explanation((), (), 0.0, 1.0, (found,)),
        Prescription(
            None, HOSTILE, (edit,), (HOSTILE,), (HOSTILE,), (HOSTILE,), (NotRecommended(HOSTILE, HOSTILE),)
        ),
        Verdict.UNKNOWN,
    )


def too_little() -> Diagnosis:
    """A log of two points."""
    return Diagnosis(
        run(series("loss", (1.0, 0.9))),
        Ending("unknown", "nothing in the logs says how the run ended"),
        Examination((), (), (NotExamined(SPIKE, Missing("only 2 values")),)),
        Explanation((), (), 0.88, 0.05, ()),
        Prescription(),
        Verdict.UNKNOWN,
    )
