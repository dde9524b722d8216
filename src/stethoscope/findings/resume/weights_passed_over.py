"""A resume loads weights whose names fit none of the network's, and says nothing.

## What it checks
Loads with `strict=False` in resumes: whether the program saves the same state from a network that is
wrapped (DistributedDataParallel, DataParallel, torch.compile) and loads it into one that is not, or the
reverse, while the names are left as they are; and whether the entry that is asked of the checkpoint, with
nothing in its place, is one that no save of the program writes.

## Why it matters
A wrapper puts `module.` or `_orig_mod.` before each name. With `strict=False` every weight is missing on
one side and unexpected on the other, and the load returns as if all were well. The network goes on from
random weights with the optimizer and the schedule of a trained one.

## When it is harmless
Without `strict=False` torch stops with an error. Names whose prefix is cut off or put on before the load,
and loads and saves of `model.module`. Where it cannot be told whether a network is wrapped nothing is said.

## References
- torch.nn.Module.load_state_dict, strict
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.program.resume.missing_entries import MissingEntry, missing_entries
from stethoscope.program.resume.prefixed_states import prefixed_states
from stethoscope.signals.resumes import Resumes

RULE = Rule(code="RES187", since="0.2", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(resumes: Resumes) -> Iterator[Finding]:
    """Report each lenient load whose names differ by the prefix of a wrapper."""
    if not resumes.resumptions:
        raise InsufficientData("no resume of a training was found in the source")
    yield from map(_of_entry, missing_entries(resumes.index))
    seen: set[object] = set()
    for resumption in resumes.resumptions:
        for one in prefixed_states(resumption):
            if one.load.site.node in seen:
                continue
            seen.add(one.load.site.node)
            yield Finding(
                (one.load.site.where, one.save.where),
                f"the names that are handed over begin with {one.saved!r} and those of the "
                f"network with {one.loaded!r}: with strict=False no weight is loaded",
                evidence={"saved": one.saved, "loaded": one.loaded},
                proof="the wrapper puts its prefix before every name, and only one side is wrapped",
            )


def _of_entry(entry: MissingEntry) -> Finding:
    asked = f"no checkpoint of this program has {entry.key!r}"
    whole = f"the names in this checkpoint are {', '.join(entry.keys)}, and not those of weights"
    return Finding(
        (entry.source.where(entry.load), entry.saved[0].where(entry.saved[1])),
        f"{asked if entry.key else whole}: nothing is loaded, and strict=False says nothing of it",
        evidence={"asked": entry.key, "saved": ", ".join(entry.keys)},
        proof="an empty state in the place of a missing entry names no weight"
        if entry.key
        else "the entries that are read beside the load tell what the checkpoint holds",
    )
