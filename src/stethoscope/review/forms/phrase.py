"""A sentence that asks for a change.

set lr to 1e-5        reduce `max_grad_norm` from 1.0 to 0.5        increase the batch size
halve the learning rate        lower the learning rate by 10x        disable dynamic loss scheduling
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from stethoscope.review.claim import DOWN, UP, Proposal
from stethoscope.review.forms import table
from stethoscope.review.parts import Line, Part, PartKind, plain
from stethoscope.review.values import NUMBER, number_of
from stethoscope.run import Where

_UP = (
    r"increas(?:e|ing)|rais(?:e|ing)|bump(?:ing)?|extend(?:ing)?|lengthen(?:ing)?|enlarg(?:e|ing)|grow"
    r"|scale up|erh(?:ö|oe)he\w*"
)
_DOWN = (
    r"reduc(?:e|ing)|lower(?:ing)?|decreas(?:e|ing)|drop(?:ping)?|cut(?:ting)?|shorten(?:ing)?|shrink(?:ing)?"
    r"|scale down|senke\w*|reduziere\w*|verringere\w*"
)
_SET = (
    r"set(?:ting)?|chang(?:e|ing)|switch(?:ing)?|us(?:e|ing)|try(?:ing)?|adjust(?:ing)?|mak(?:e|ing)|mov(?:e|ing)|tun(?:e|ing)"
    r"|put(?:ting)?|turn(?:ing)?|go(?:ing)? with|setze?\w*|(?:ä|ae)ndere\w*"
)
# What was done already, in a document that tells of applied fixes.
_DONE = (
    r"(?:increased|raised|bumped|extended|reduced|lowered|decreased|dropped|shortened|changed|switched"
    r"|adjusted)"
)
_FILLER = r"(?:(?:the|your|a|an|its|my|our|this|that|die|den|das|value of|number of|amount of)\s+)*"
_WORD = r"[A-Za-z_][\w.\-/]*"
_STOP = (
    r"(?!(?:to|from|by|at|and|or|with|for|auf|von|than|if|so|until|when|as|of|is|was|in|on|because"
    r"|allows?|that|instead|reducing|increasing|lowering|raising|setting|using|decreasing|changing)\b)"
)
_NAMED = rf"(?:`[^`\s:=]{{1,80}}`|{_STOP}{_WORD}(?:\s+{_STOP}{_WORD}){{0,4}})"
_WORD_VALUE = (
    r"(?:true|false|on|off|none|null|auto|bf16|fp16|fp32|tf32|bfloat16|float16|float32|bf16-mixed|16-mixed|32-true|cosine|linear"
    r"|constant|exponential|polynomial|adamw?|sgd|lion|adafactor|rmsprop|muon|zero|one|two|three|four|eight|ten|sixteen)"
)
_VALUE = (
    rf"(?:`[^`\n]{{1,60}}`|\"[^\"\n]{{1,40}}\"|\[[^\]\n]{{1,60}}\]|{NUMBER}|{_WORD_VALUE}\b"
    rf"|(?-i:[A-Z][a-z]+[A-Z]\w+))"
)
_TO = r"(?:\s+(?:down to|up to|back to|to|auf|at|as|of)\s+|\s*[=:]\s*)"
_NO_ARROW = r"(?!\s*(?:→|⟶|➜|➡|⇒|-{1,2}>|=>))"

_VALUED = re.compile(
    rf"\b(?P<verb>{_UP}|{_DOWN}|{_SET}|{_DONE})\s+{_FILLER}(?P<name>{_NAMED})(?:\s*\([^)]{{0,40}}\))?"
    rf"(?:\s+(?:from|von)\s+(?P<old>{_VALUE}))?{_TO}(?:about |around |roughly |~|≈|something like "
    rf"|e\.g\.,? )*"
    rf"(?P<new>{_VALUE}){_NO_ARROW}",
    re.IGNORECASE,
)
_TRIED = re.compile(
    rf"\b(?P<verb>{_UP}|{_DOWN}|{_DONE})\s+{_FILLER}(?P<name>{_NAMED})\s*"
    rf"\((?:try |to |e\.g\.,? |say |maybe |now )?(?P<new>{_VALUE}){_NO_ARROW}"
    rf"(?:\s+(?:from|instead of|was)\s+(?P<old>{_VALUE}))?",
    re.IGNORECASE,
)
_FACTOR = re.compile(
    rf"\b(?P<verb>{_UP}|{_DOWN})\s+{_FILLER}(?P<name>{_NAMED})\s+by\s+(?:a factor of\s+)?"
    r"(?P<by>\d+(?:\.\d+)?)\s*(?P<unit>x\b|×|%|times\b|fold\b)?",
    re.IGNORECASE,
)
_TWICE = re.compile(
    rf"\b(?P<verb>halv(?:e|ing)|doubl(?:e|ing))\s+{_FILLER}(?P<name>{_NAMED})(?=[\s.,;:!)]|$)", re.IGNORECASE
)
_TIMES = re.compile(
    rf"\b(?P<by>\d+(?:\.\d+)?)\s*[x×]\s+(?P<which>lower|smaller|higher|larger|longer|shorter)\s+(?P<name>{_NAMED})",
    re.IGNORECASE,
)
_BEGIN = (
    r"(?:^|(?<=[.:;!?]\s)|(?<=,\s))(?:\W*)(?:then |also |and |or |further |slightly |please |try to |you "
    r"should |i would |i'd |consider )*"
)
_TOWARDS = re.compile(
    rf"{_BEGIN}(?:(?P<up>{_UP}|add more|use more|more|(?:use |try )?(?:a )?(?:larger|higher|longer|bigger))"
    rf"|(?P<down>{_DOWN}|use fewer|use less|(?:use |try )?(?:a )?(?:smaller|lower|shorter)))\s+{_FILLER}"
    rf"(?:effective |base |overall )?(?P<name>{_NAMED})(?=[\s.,;:!)(]|$)",
    re.IGNORECASE,
)
_SWITCH = re.compile(
    rf"{_BEGIN}(?P<verb>enabl(?:e|ing)|disabl(?:e|ing)|turn(?:ing)? (?:on|off)|switch(?:ing)? (?:on"
    rf"|off)|activat(?:e|ing)|deactivat(?:e|ing)"
    rf"|aktiviere|deaktiviere)\s+{_FILLER}(?P<name>{_NAMED})(?=[\s.,;:!)(]|$)",
    re.IGNORECASE,
)
_SHOULD = re.compile(
    rf"(?P<name>`[^`\s:=]{{1,80}}`|\b{_WORD}(?:\s+{_STOP}{_WORD}){{0,2}}?)\s+(?:should|must|needs to"
    rf"|has to|ought to|sollte)\s+"
    rf"(?:be|stay at|go (?:down |up )?to)\s+(?:set to |about |around |at most |at least )*(?P<new>{_VALUE})",
    re.IGNORECASE,
)
_MUST_BY = re.compile(
    rf"(?P<name>`[^`\s:=]{{1,80}}`|\b{_WORD}(?:\s+{_STOP}{_WORD}){{0,2}}?)\s+(?:should|must|needs to"
    rf"|has to)\s+"
    r"(?:(?P<down>go down|come down|be (?:lowered|reduced|smaller|decreased))|(?P<up>go up|be "
    r"(?:raised|increased|larger)))"
    r"\s+(?:by\s+)?(?:a factor of\s+)?(?P<by>\d+(?:\.\d+)?)\s*(?:x\b|×|times\b)",
    re.IGNORECASE,
)
# The verb may come last, or stand in another language: `lr` von 3e-4 auf 1e-4 senken.
_FROM_TO = re.compile(
    rf"(?P<name>`[^`\s:=]{{1,80}}`)\s+(?:from|von|de)\s+(?P<old>{_VALUE})\s+(?:to|auf|a|à)\s+(?P<new>{_VALUE})",
    re.IGNORECASE,
)
_AUF = re.compile(
    rf"(?P<name>`[^`\s:=]{{1,80}}`)\s+auf\s+(?P<new>{_VALUE})\s+(?:zu )?"
    r"(?:setzen|stellen|senken|erh(?:ö|oe)hen|(?:ä|ae)ndern|reduzieren|verringern|gesetzt|gestellt)",
    re.IGNORECASE,
)
_ASKED = r"(?:^|[.:;,!?]\s|\b(?:to|should|must|could|please|just|then|or|and|would|can|instead|i'd)\s)\W*"
_PRECISION = re.compile(
    rf"(?:{_ASKED}(?:use|try|train in|run in)"
    r"|\b(?:switch(?:ing)?|mov(?:e|ing)|chang(?:e|ing)|go) to|\bgo with)\s+"
    r"(?:full |mixed )?(?P<new>bf16|bfloat16|fp32|float32|fp16|float16)\b(?!-)",
    re.IGNORECASE,
)
_OFF = re.compile(r"disabl|off|deactiv|deaktiv", re.IGNORECASE)
_NOT = re.compile(
    r"(?:\b(?:don'?t|do not|never|not|without|avoid|stop|instead of|no need to|rather than)\s+(?:\w+\s+)?)$",
    re.IGNORECASE,
)
_LESS = frozenset({"lower", "smaller", "shorter"})


def read(part: Part) -> Iterator[Proposal]:
    """Every sentence of a paragraph, a heading or a cell of a table that asks for a change."""
    if part.kind is PartKind.PROSE or part.kind is PartKind.HEADING:
        yield from _in_sentences(part)
    elif part.kind is PartKind.TABLE and not any(True for _ in table.read(part)):
        for line in part.lines[2:]:
            for cell in table.cells(line.text):
                yield from _in_sentences(replace(part, kind=PartKind.PROSE, lines=(Line(line.number, cell),)))


def _in_sentences(part: Part) -> Iterator[Proposal]:
    text = re.sub(r"\*\*", "", part.text)
    taken: list[tuple[int, int]] = []
    for pattern, made in _PATTERNS:
        if part.kind is PartKind.HEADING and pattern in (_TOWARDS, _SWITCH):
            continue  # what a heading announces, the text below it says
        for found in pattern.finditer(text):
            if _overlaps(found, taken) or _NOT.search(text[: found.start()]):
                continue
            proposal = made(found, part, text)
            if proposal is not None:
                taken.append(found.span())
                yield proposal


def _overlaps(found: re.Match[str], taken: list[tuple[int, int]]) -> bool:
    return any(found.start() < end and begin < found.end() for begin, end in taken)


def _valued(found: re.Match[str], part: Part, text: str) -> Proposal | None:
    old = found.groupdict().get("old") or ""
    return _proposal(found, part, text, to=found["new"].strip('`"'), before=old.strip('`"'))


def _factor(found: re.Match[str], part: Part, text: str) -> Proposal | None:
    by = number_of(found["by"]) or 0.0
    down = re.match(_DOWN, found["verb"], re.IGNORECASE) is not None
    if found["unit"] == "%":
        factor = 1 - by / 100 if down else 1 + by / 100
    elif found["unit"] or "factor" in found[0].lower():
        factor = 1 / by if down and by else by
    else:
        return None
    return _proposal(found, part, text, factor=factor) if factor > 0 else None


def _twice(found: re.Match[str], part: Part, text: str) -> Proposal | None:
    return _proposal(found, part, text, factor=0.5 if found["verb"].lower().startswith("hal") else 2.0)


def _times(found: re.Match[str], part: Part, text: str) -> Proposal | None:
    by = number_of(found["by"]) or 0.0
    return (
        _proposal(found, part, text, factor=1 / by if found["which"].lower() in _LESS else by) if by else None
    )


def _towards(found: re.Match[str], part: Part, text: str) -> Proposal | None:
    return _proposal(found, part, text, direction=UP if found["up"] else DOWN)


def _must_by(found: re.Match[str], part: Part, text: str) -> Proposal | None:
    by = number_of(found["by"]) or 0.0
    return _proposal(found, part, text, factor=1 / by if found["down"] else by) if by else None


def _precision(found: re.Match[str], part: Part, text: str) -> Proposal | None:
    """`use bf16` names the value, and by it the setting."""
    return _proposal(found, part, text, to=found["new"], name="precision")


def _switched(found: re.Match[str], part: Part, text: str) -> Proposal | None:
    return _proposal(found, part, text, to="false" if _OFF.search(found["verb"]) else "true")


_PATTERNS = (
    (_PRECISION, _precision),
    (_VALUED, _valued),
    (_TRIED, _valued),
    (_SHOULD, _valued),
    (_FROM_TO, _valued),
    (_AUF, _valued),
    (_MUST_BY, _must_by),
    (_FACTOR, _factor),
    (_TWICE, _twice),
    (_TIMES, _times),
    (_SWITCH, _switched),
    (_TOWARDS, _towards),
)


def _proposal(
    found: re.Match[str],
    part: Part,
    text: str,
    to: str = "",
    before: str = "",
    direction: str = "",
    factor: float | None = None,
    name: str = "",
) -> Proposal:
    name = (name or found["name"]).rstrip(".")
    is_code = name.startswith("`") or bool(re.fullmatch(r"\w+(?:[._]\w+)+", name))
    path = tuple(name.strip("`").split(".")) if is_code else (name.strip("`. "),)
    words = path[0].split() if len(path) == 1 else []
    # "learning rate further": how much of it is the name is seen by what it resolves to.
    shorter = [(" ".join(words[:count]),) for count in range(len(words) - 1, 0, -1)]
    return Proposal(
        plain(text)[:300],
        Where(line=part.line_at(found.start())),
        (path, *shorter),
        to,
        before,
        direction,
        factor,
        marked=True,
        formal=is_code,
        block=part.number,
    )
