"""The weights that should be measured are read and dropped, or never read.

## What it checks
Calls that read weights from a file (`torch.load`) whose result nothing uses, networks that are made behind a
training, of the class that was trained, and measured without ever getting weights, and loads with
`strict=False` of names that all begin with a part that the network does not have. Whether such a network is
trained further, as behind a resume, or only measured is told apart.

## Why it matters
The numbers at the end are of other weights than they are said to be of: those of the last step in the place
of the best, or those that a network is born with. The training curves look as they should.

## When it is harmless
A file that is opened to see whether it can be. A network that is handed to a function that may give it
weights is left alone, and so is one that is measured before training, as a baseline.

## References
- torch.load, torch.nn.Module.load_state_dict
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.evaluation.misnamed_states import Misnamed, misnamed_states
from stethoscope.program.evaluation.unread_checkpoints import unread_checkpoints, untrained_networks
from stethoscope.program.index import index
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.networks import trained_by
from stethoscope.signals.sources import Sources
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="EVA226", since="0.4", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources, loops: TrainingLoops | None) -> Iterator[Finding]:
    """Report weights that go nowhere, and networks that are measured as they were made."""
    known = index(sources.program)
    for unread in unread_checkpoints(known):
        kept = f"kept as `{unread.name}`, which nothing reads" if unread.name else "not kept"
        yield Finding(
            unread.source.where(unread.node),
            f"the weights that are read here are {kept}",
            evidence={"kind": "dropped", "name": unread.name, "trained": False},
        )
    for one in untrained_networks(known):
        yield Finding(
            (one.source.where(one.measured), one.source.where(one.made)),
            f"`{one.name}` is measured with the weights that it was made with; `{one.trained}` was trained",
            evidence={"kind": "untrained", "measured": one.name, "learned": one.trained, "trained": False},
        )
    for misnamed in misnamed_states(known):
        yield Finding(
            misnamed.source.where(misnamed.load),
            f"every name begins with {misnamed.prefix!r}, which {misnamed.network} does not have: with "
            "strict=False no weight is loaded",
            evidence={
                "kind": "misnamed",
                "prefix": misnamed.prefix,
                "trained": loops is not None and _is_trained_on(misnamed, loops),
            },
        )


def _is_trained_on(misnamed: Misnamed, loops: TrainingLoops) -> bool:
    """Whether the network that such a load leaves as it was is one that an optimizer moves."""
    for loop in loops:
        loaded = [
            event.receiver
            for event in loop.trace.events
            if isinstance(event, Call) and event.site.node is misnamed.load
        ]
        updates = [move.subject for move in loop.moves if move.updates]
        if any(trained_by(loop.run, optimizer, network) for optimizer in updates for network in loaded):
            return True
    return False
