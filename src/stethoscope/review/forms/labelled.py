"""A setting on a line of prose, behind a label, a mark or alone, and settings written as code in a sentence.

Current: lr = 1e-3        Recommended: lr = 1e-4
❌ batch_size: 4          ✅ batch_size: 32
Use `weight_decay=0.1` instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from stethoscope.review.claim import Proposal
from stethoscope.review.intent import NEW, OLD, around, intent, marked
from stethoscope.review.parts import Line, Part, PartKind, plain
from stethoscope.review.values import NUMBER, value_of
from stethoscope.run import Where

_LABEL = re.compile(r"^(?P<label>[^:=`]{1,40}?)\s*:\s+(?P<rest>.+)$")
_MARKED = re.compile(r"^[^\w`]*[❌✅✓✔✗✘☑][^\w`]*(?P<rest>.+)$")
_PAIR = re.compile(
    rf"^`?(?P<name>[A-Za-z_][\w.\-]*)`?\s*(?:=|:)\s*`?(?P<value>\[[^\]]*\]|\"[^\"]*\"|{NUMBER}|[A-Za-z][\w.\-]*)`?"
    r"(?:\s*[(#,;].*|\s+[-–—].*)?$"
)
# `base_lr = 5e-5 (reduced from 1e-4)`
_MOVED = re.compile(
    rf"^`?(?P<name>[A-Za-z_][\w.\-]*)`?\s*[=:]\s*`?(?P<value>{NUMBER})`?\s*\((?:\w+\s+)?(?:from|was"
    rf"|before)[ :]+`?(?P<old>{NUMBER})",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"`(?:--)?(?P<name>[A-Za-z_][\w.\-]*)\s*(?:=|:\s|\s)\s*(?P<value>\[[^\]`]*\]|[^`\s]{1,40})`"
)
_FLAG = re.compile(rf"(?<![\w`\-])--(?P<name>[A-Za-z][\w\-]*)[ =](?P<value>{NUMBER}|true|false)(?![\w`])")
_BARE = re.compile(
    rf"(?<![\w`./\-])(?P<name>[A-Za-z]\w*(?:\.\w+)*)\s?=\s?(?P<value>{NUMBER}|true|false)(?![\w`(])",
    re.IGNORECASE,
)
_ONLY_VALUE = re.compile(rf"^`?(?P<value>{NUMBER}|true|false|bf16|fp16|fp32)`?(?:\s*\(.*)?$", re.IGNORECASE)
_ASKS = re.compile(
    r"\b(?:set|use|try|chang|switch|add|pass|enabl|disabl|reduc|lower|increas|rais|recommend|suggest|should|want|need|instead"
    r"|fix|go with|start with|replac|make|put|bump|drop(?!out)|consider|ensur|setze|nutze|verwende)\w*",
    re.IGNORECASE,
)
_OLD_BEFORE = re.compile(
    r"\b(?:from|was|were|currently|current|instead of|rather than|not|had|have|has|with your|because"
    r"|since|your|than|over)\s+\W*$",
    re.IGNORECASE,
)
_INDENTED = re.compile(r"^\s+[\w.\-]+\s*[:=]\s*\S+(?:\s+#.*)?$")


def read(part: Part) -> Iterator[Proposal]:
    """The settings of a paragraph that a label, a mark or a verb asks for."""
    if part.kind is not PartKind.PROSE:
        return
    for line in part.lines:
        found = _of_line(line, part)
        if found is not None:
            yield found
            return
    yield from _in_code(part)


def _of_line(line: Line, part: Part) -> Proposal | None:
    text = plain(line.text)
    label, said, rest = "", marked(text), text
    by_mark, by_label = _MARKED.match(text), _LABEL.match(text)
    if by_mark:
        rest = by_mark["rest"]
    elif by_label and intent(by_label["label"]) and len(by_label["label"].split()) <= 4:
        label, rest, said = by_label["label"], by_label["rest"], intent(by_label["label"])
    elif _INDENTED.match(line.text) and around(part.headings, part.lead) != OLD:
        said = NEW  # a line that fell out of its block
    moved = _MOVED.match(text)
    if moved and not said:
        found = _proposal(part, line, tuple(moved["name"].split(".")), moved["value"], formal=True)
        return replace(found, before=moved["old"])
    if said != NEW:
        return None
    pair = _PAIR.match(rest.strip())
    if pair:
        return _proposal(part, line, tuple(pair["name"].split(".")), pair["value"], formal=True)
    value = _ONLY_VALUE.match(rest.strip()) if label and part.headings else None
    return _proposal(part, line, (_topic(part),), value["value"], formal=False) if value else None


def _topic(part: Part) -> str:
    """What a heading is about: `### 2. Learning rate` is learning rate."""
    return re.sub(r"^\W*\d+[.):]\s*|[*`]", "", part.headings[-1]).strip()


def _in_code(part: Part) -> Iterator[Proposal]:
    """`key=value`, also without the marks of code, or --key value in a sentence that asks for something."""
    text = part.text
    for found in (*_CODE.finditer(text), *_FLAG.finditer(text), *_BARE.finditer(text)):
        before = re.split(r"[.;!?]\s", text[: found.start()])[-1]
        behind = re.split(r"[.;!?,]\s", text[found.end() :][:60])[0]
        if _OLD_BEFORE.search(before) or not (_ASKS.search(before) or _ASKS.search(behind)):
            continue
        if (
            isinstance(value_of(found["value"]), str)
            and "=" not in found[0]
            and ":" not in found[0]
            and "--" not in found[0]
        ):
            continue
        line = Line(part.line_at(found.start()), text)
        yield _proposal(part, line, tuple(found["name"].split(".")), found["value"], formal=True)


def _proposal(part: Part, line: Line, path: tuple[str, ...], value: str, formal: bool) -> Proposal:
    return Proposal(
        plain(line.text)[:300],
        Where(line=line.number),
        (path,),
        value.strip('`"'),
        marked=True,
        formal=formal,
        block=part.number,
    )
