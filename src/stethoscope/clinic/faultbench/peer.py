"""Another tool for the same job, asked about the same runs: how it is called, and what its answers mean."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from stethoscope.clinic.faultbench.opinion import Opinion, either
from stethoscope.clinic.faultbench.plain_log import Grain
from stethoscope.discovery import modules_in, spoken_name, summary

NO_OPINION = Opinion("no opinion")  # it could not read the log, broke, or took too long


class NoAnswer(ValueError):
    """What a program printed says nothing about the run."""


@dataclass(frozen=True, slots=True)
class Peer:
    """What a file of `peers/` declares; its name is the file's.

    `package` and `version` are what the registry has, `program` the function behind its command, as
    "module:function". `arguments` takes the folder of a plain log; `understood` takes what the program
    printed, and raises NoAnswer where that says nothing. What needs no package guesses, from the name of a
    run alone.
    """

    package: str = ""
    version: str = ""
    program: str = ""
    arguments: Callable[[Path], Sequence[str]] = lambda folder: ()
    understood: Callable[[str], Opinion] = lambda printed: NO_OPINION
    guess: Callable[[str], Opinion] | None = None

    @property
    def grains(self) -> tuple[Grain, ...]:
        """The logs that it is asked about; one that reads none is asked once."""
        return tuple(Grain) if self.guess is None else (Grain.STEP,)


@dataclass(frozen=True, slots=True)
class PeerEntry:
    """A peer as the catalogue knows it."""

    name: str
    title: str
    peer: Peer


@cache
def peers() -> tuple[PeerEntry, ...]:
    """Every peer, in the order of the names."""
    modules = modules_in(f"{__package__}.peers")
    return tuple(PeerEntry(spoken_name(module), summary(module), module.PEER) for module in modules)


# --- for those who answer in JSON -----------------------------------------------------------------------

Means = Mapping[str, Sequence[str]]  # the names of its findings, and the causes that each may stand for


def answer(printed: str) -> Any:
    """The JSON in what a program printed."""
    try:
        return json.loads(printed)
    except ValueError:
        raise NoAnswer(printed[:200]) from None


def opinion_of(found: Sequence[tuple[str, str]], grave: str, warning: str, means: Means) -> Opinion:
    """The opinion that findings amount to, each a name and a level, in the order of the tool.

    A grave finding is called sick, a warning at risk; notes raise no alarm, and name a cause all the same. A
    finding that may stand for several causes names all of them.
    """
    levels = {level for _, level in found}
    verdict = "sick" if grave in levels else "at-risk" if warning in levels else "healthy"
    named = dict.fromkeys(either(means[name]) for name, _ in found if means.get(name))
    findings = tuple(dict.fromkeys(name for name, _ in found))
    return Opinion(verdict, tuple((cause, 0.0) for cause in named), findings=findings)
