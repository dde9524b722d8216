"""Lets the rules look at a program: in this process, or a large program in several at once.

A process that is forked has the whole program in memory already. Each takes one family of rules after the
other, because the rules of a family share what they find out. What all families share is found out in every
process anew: two processes take about three quarters of the time of one.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from stethoscope.findings import Finding, RuleEntry, Subject, apply
from stethoscope.lint.patients import Patients
from stethoscope.signals import Missing, measure

Outcome = tuple[Finding, ...] | Missing
Outcomes = dict[str, list[tuple[Outcome, int]]]  # by the code of a rule; under which of the runs

LARGE = 50_000  # lines; below this, another process costs as much as it saves
MOST_PROCESSES = 4  # each holds what it has found out about the program: half a gigabyte in a large one


def sensible_jobs() -> int:
    """As many processes as this machine has cores for."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST_PROCESSES)


def outcomes(rules: Sequence[RuleEntry], read: Patients, jobs: int = 1) -> Outcomes:
    """What every rule says about every program under every settings, in at most so many processes."""
    families = _families(rules)
    jobs = min(jobs, len(families))
    # Elsewhere than on Linux, system libraries do not outlive a fork.
    if jobs < 2 or sys.platform != "linux" or _lines(read) < LARGE:
        return _looked(rules, read)
    return _together(families, read, jobs)


def _looked(rules: Sequence[RuleEntry], read: Patients) -> Outcomes:
    found: Outcomes = {rule.code: [] for rule in rules}
    in_source = frozenset(map(id, read.source_runs or read.runs[:1]))
    # Run by run, because the facts of one program are remembered and shared by its rules.
    for number, run in enumerate(read.runs):
        signals = measure(run)
        for rule in rules:
            if rule.subject is Subject.SETTINGS or id(run) in in_source:
                found[rule.code].append((apply(rule, signals), number))
    return found


def _together(families: Sequence[Sequence[RuleEntry]], read: Patients, jobs: int) -> Outcomes:
    """Share the families out; what a process that ended early had taken is looked at here."""
    context = multiprocessing.get_context("fork")
    turn = context.Value("i", 0)
    helpers = []
    for _ in range(jobs - 1):
        answers, says = context.Pipe(duplex=False)
        helper = context.Process(target=_help, args=(families, read, turn, says), daemon=True)
        helper.start()
        says.close()
        helpers.append((helper, answers))
    found: Outcomes = {}
    for number in _turns(turn, len(families)):
        found |= _looked(families[number], read)
    for helper, answers in helpers:
        with suppress(EOFError, OSError):
            found |= answers.recv()
        helper.join()
    missing = [rule for family in families for rule in family if rule.code not in found]
    return found | _looked(missing, read) if missing else found


def _help(families: Sequence[Sequence[RuleEntry]], read: Patients, turn: Any, says: Connection) -> None:
    """Look with one family after the other. What goes wrong here goes wrong once more where it is told."""
    with suppress(BaseException):
        found: Outcomes = {}
        for number in _turns(turn, len(families)):
            found |= _looked(families[number], read)
        says.send(found)


def _turns(turn: Any, count: int) -> Iterator[int]:
    """The numbers of families that nobody else has taken."""
    while True:
        with turn.get_lock():
            number = turn.value
            turn.value += 1
        if number >= count:
            return
        yield number


def _families(rules: Sequence[RuleEntry]) -> list[list[RuleEntry]]:
    """The rules by family, those with the most rules first: what is taken last should be short."""
    by_family: dict[str, list[RuleEntry]] = {}
    for rule in rules:
        by_family.setdefault(rule.family, []).append(rule)
    return sorted(by_family.values(), key=len, reverse=True)


def _lines(read: Patients) -> int:
    return sum(text.count("\n") for text in read.texts.values())
