"""A checkpoint to go back to.

Resume from the 25K checkpoint        roll back to step 1,000        use the checkpoint at epoch 12
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stethoscope.review.claim import Kind, Proposal
from stethoscope.review.parts import Part, PartKind, plain
from stethoscope.review.values import NUMBER
from stethoscope.run import Where

_VERB = (
    r"\b(?:resum\w*|restart\w*|roll(?:ing)? back|go(?:ing)? back|continu\w*|restor\w*|load\w*|start\w*"
    r"|us(?:e|ing)|bring|revert\w*|return\w*)\b"
)
_BACK = (
    re.compile(
        rf"{_VERB}[^.;\n]{{0,40}}?\b(?:from|to|the|at)\s+(?:the\s+)?(?:step|iter\w*|epoch|checkpoint)\s*#?(?P<step>{NUMBER})\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"{_VERB}[^.;\n]{{0,40}}?\b(?P<step>{NUMBER})(?:[ -]?(?:step|iter\w*|epoch))?\s+(?:checkpoint"
        rf"|model|weights|snapshot)\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"{_VERB}[^.;\n]{{0,40}}?\bcheckpoint\s+(?:at|from|of)\s+(?:step\s+|iter\w*\s+|epoch\s+)?(?P<step>{NUMBER})\b",
        re.IGNORECASE,
    ),
)
_NOT = re.compile(r"\b(?:don'?t|do not|never)\s+$", re.IGNORECASE)


def read(part: Part) -> Iterator[Proposal]:
    """The first checkpoint that a sentence wants to go back to."""
    if part.kind is PartKind.PROSE:
        text = re.sub(r"\*\*", "", part.text)
        for pattern in _BACK:
            found = pattern.search(text)
            if found and not _NOT.search(text[: found.start()]):
                yield Proposal(
                    plain(text)[:300],
                    Where(line=part.line_at(found.start("step"))),
                    (("checkpoint",),),
                    found["step"],
                    kind=Kind.CHECKPOINT,
                    marked=True,
                    block=part.number,
                )
                return
