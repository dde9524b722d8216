"""Source text before and after, in a fenced block.

# BEFORE
return x / torch.sqrt(sigma + 1e-5)
# AFTER
return x / torch.sqrt(sigma + 1e-4)
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stethoscope.review.claim import Kind, Proposal
from stethoscope.review.forms import diff, fenced_settings
from stethoscope.review.intent import NEW, OLD, intent
from stethoscope.review.parts import Line, Part, PartKind
from stethoscope.run import Where

_LANGUAGES = frozenset({"python", "py", "python3", "cpp", "cuda", "c++"})
_COMMENT = re.compile(r"^\s*(?:#|//)\s*(.*)$")


def read(part: Part) -> Iterator[Proposal]:
    """One proposal for a block that shows both sides and sets nothing."""
    if part.kind is not PartKind.FENCE or part.info not in _LANGUAGES or diff.is_diff(part):
        return
    if any(True for _ in fenced_settings.read(part)):
        return
    sides: dict[str, list[Line]] = {OLD: [], NEW: []}
    said = ""
    for line in part.lines:
        comment = _COMMENT.match(line.text)
        if comment:
            said = intent(" ".join(comment[1].split()[:2])) or said
        elif said and line.text.strip():
            sides[said].append(line)
    if sides[OLD] and sides[NEW]:
        old = {line.text.strip() for line in sides[OLD]}
        first = next((line for line in sides[NEW] if line.text.strip() not in old), sides[NEW][0])
        yield Proposal(
            first.text.strip(),
            Where(line=first.number),
            (("source",),),
            "\n".join(line.text.strip() for line in sides[NEW]),
            "\n".join(line.text.strip() for line in sides[OLD]),
            kind=Kind.SOURCE,
            marked=True,
            block=part.number,
        )
