"""What a document says that a series did: values at steps, a best value, a course from one to another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from stethoscope.review.claim import Observation
from stethoscope.review.intent import ELSEWHERE, PREDICTION
from stethoscope.review.parts import Part, PartKind, plain
from stethoscope.review.values import NUMBER, number_of
from stethoscope.run import Where
from stethoscope.run.names import canonical, known

_UNIT = r"(?:iterations?|iters?|its?|steps?|epochs?|updates?)"
_STEP = rf"(?:{_UNIT}\s*#?(?P<s>{NUMBER})|(?P<sb>{NUMBER})(?:th)?[ -]?{_UNIT}|(?P<sc>\d+(?:\.\d+)?[kKM])\b)"
_NAME = (
    r"(?P<name>`[\w./\- ]{1,40}`|(?:(?:train(?:ing)?|val(?:idation)?|eval(?:uation)?|test|dev|g|d)[ _/]+)?"
    r"(?:loss|psnr|ssim|lpips|fid|acc(?:uracy)?|perplexity|ppl|bleu|rouge|miou|iou|map|auc|f1|wer|cer|mse|mae|rmse"
    r"|grad(?:ient)?[ _]norm|lr|learning rate|loss scale|scale_g|[a-z]{1,12}_(?:loss|psnr|ssim|acc"
    r"|accuracy|norm|scale|ppl)"
    r"|[a-z]{1,12}/[a-z_]{1,20}))"
)
_IS = r"\s*(?:=|:|of|is|was|at|reached|hits?|hit|stood at|~|≈)?\s*"
_OVER = r"(?:at|@|by|around|after|on|in|near|until)"

_AT_AFTER = re.compile(
    rf"\b{_NAME}(?P<how>\s+(?:peak(?:s|ed)?|max(?:es|ed)? out|bottom(?:s|ed)? out)\s+(?:at|with|around"
    rf"|of))?{_IS}(?P<value>{NUMBER})"
    rf"(?P<more>(?:\s*(?:dB|%"
    rf"|nats))?(?:,\s*[A-Za-z_]+\s+{NUMBER}){{0,3}})\s*(?:dB)?\s*[,(]?\s*{_OVER}\s+(?:about |around |~)?"
    rf"{_STEP}",
    re.IGNORECASE,
)
_AT_BEFORE = re.compile(
    rf"\b(?:at |@ ?|by |after )?{_UNIT}\s*#?(?P<s>{NUMBER})\s*[:,|-]\s*(?:the "
    rf")?{_NAME}{_IS}(?P<value>{NUMBER})",
    re.IGNORECASE,
)
_MORE = re.compile(rf",\s*(?P<name>[A-Za-z_]+)\s+(?P<value>{NUMBER})")
_VERB = (
    r"(?:ris(?:es|en|ing)|rose|fell|falls?|falling|dropp?(?:s|ed|ing)?|increas(?:es|ed|ing)|decreas(?:es|ed|ing)|went|goes|grew|grows"
    r"|climb(?:s|ed|ing)?|improv(?:es|ed|ing)|declin(?:es|ed|ing)|degrad(?:es|ed|ing)|jump(?:s|ed)?|explod(?:es|ed)|spik(?:es|ed)|moved?"
    r"|plateau(?:s|ed)?|diverg(?:es|ed))"
)
_COURSE = re.compile(
    rf"\b{_NAME}\s+(?:\w+ly\s+)?{_VERB}\s+(?:\w+ly\s+)?(?:back )?from\s+(?P<a>{NUMBER})\s*(?:dB"
    rf"|%)?\s+(?:\w+\s+)?to\s+(?P<b>{NUMBER})"
    rf"(?:\s*(?:dB|%))?(?:\s+(?:between|from)\s+(?:{_UNIT}\s+)?(?P<n>{NUMBER})\s+(?:and|to)\s+(?:{_UNIT}\s+)?(?P<m>{NUMBER}))?",
    re.IGNORECASE,
)
_ARROW_COURSE = re.compile(
    rf"(?:{_UNIT}\s+(?P<n>{NUMBER})\s*(?:-|–|to)\s*(?P<m>{NUMBER})\s*[:,]\s*)?{_NAME}{_IS}(?P<a>{NUMBER})\s*(?:→|-+>|=>)\s*(?P<b>{NUMBER})",
    re.IGNORECASE,
)
_BEST = re.compile(
    rf"\b(?:best|peak|highest|lowest|max(?:imum)?|min(?:imum)?)\s+{_NAME}{_IS}(?P<value>{NUMBER})(?!\s*(?:→|->))",
    re.IGNORECASE,
)
_FINAL = re.compile(rf"\b(?:final|last|end(?:ing)?)\s+{_NAME}{_IS}(?P<value>{NUMBER})", re.IGNORECASE)


def observations(part: Part) -> Iterator[Observation]:
    """The numbers that a part gives for named series; what is expected of another run is none."""
    if part.kind is PartKind.FENCE and part.info not in {"", "text", "txt", "log", "console", "plaintext"}:
        return
    if part.kind not in (PartKind.PROSE, PartKind.FENCE):
        return
    if _predicts(part):
        return
    texts = (
        [(part.text, 0)] if part.kind is PartKind.PROSE else [(line.text, line.number) for line in part.lines]
    )
    lead = ""
    for text, number in texts:
        if number and text.rstrip().endswith(":"):
            lead = text
        if not any(words.search(said) for words in (PREDICTION, ELSEWHERE) for said in (text, lead)):
            yield from _in_text(re.sub(r"\*\*", "", text), part, number)


def _predicts(part: Part) -> bool:
    return any(
        PREDICTION.search(text)
        for text in (*part.headings[-1:], part.lead if part.kind is PartKind.FENCE else "")
    )


def _in_text(text: str, part: Part, number: int) -> Iterator[Observation]:
    taken: list[tuple[int, int]] = []

    def free(found: re.Match[str]) -> bool:
        clash = any(found.start() < end and begin < found.end() for begin, end in taken)
        if not clash:
            taken.append(found.span())
        return not clash

    def made(
        found: re.Match[str], manner: str, values: tuple[str, ...], steps: tuple[int | None, ...]
    ) -> Observation:
        line = number or part.line_at(found.start())
        return Observation(
            plain(text)[:300], Where(line=line), found["name"].strip("` "), manner, values, steps
        )

    for found in (*_COURSE.finditer(text), *_ARROW_COURSE.finditer(text)):
        if not (found.re is _ARROW_COURSE and canonical(found["name"]) == "lr") and free(found):
            yield made(found, "course", (found["a"], found["b"]), (_step(found["n"]), _step(found["m"])))
    for found in _AT_AFTER.finditer(text):
        if free(found):
            step = _step(found["s"] or found["sb"] or found["sc"])
            yield made(found, "best" if found["how"] else "at", (found["value"],), (step,))
            for more in _MORE.finditer(found["more"] or ""):
                if known(more["name"]):
                    yield replace(made(found, "at", (more["value"],), (step,)), name=more["name"])
    for found in _AT_BEFORE.finditer(text):
        if free(found):
            yield made(found, "at", (found["value"],), (_step(found["s"]),))
    for pattern, manner in ((_BEST, "best"), (_FINAL, "final")):
        for found in pattern.finditer(text):
            if free(found):
                yield made(found, manner, (found["value"],), (None,))


def _step(text: str | None) -> int | None:
    number = number_of(text) if text else None
    return int(number) if number is not None and 0 <= number < 1e12 else None
