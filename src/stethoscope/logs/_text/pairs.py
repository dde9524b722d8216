"""Finds the named numbers of a line of a log nobody described: what each is called, and what follows it.

    [12:00:01] Epoch 3/10 | train loss: 0.123 (0.130) | acc: 91.2% | lr=[1e-4, 1e-5] | 12.5ms

Dates, times, paths, versions and the bars of progress are no numbers. A number's name is what stands
directly before it; a number behind a slash is the other's total; one in brackets behind a value is its mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from stethoscope.logs._text.grammar import Span
from stethoscope.run.names import known

LONGEST_LINE = 4_000  # characters of a line that are searched
MOST_FIELDS = 200  # numbers of one line
LONGEST_NAME = 60  # characters
MOST_WORDS = 4  # of a name

BLANK = "\x01"  # stands for what is no number; no name reaches over it


@dataclass(frozen=True, slots=True)
class Field:
    """A number of a line: its name ("" for none), its span, and what was printed around it."""

    name: str
    start: int
    end: int
    unit: str = ""
    joint: str = ""  # what joins name and number: ":", "=" or " "
    opener: str = ""  # a bracket directly before the number
    total: Span | None = None
    context: str = ""  # words before the name that are not part of it

    @property
    def span(self) -> Span:
        """Where the number stands."""
        return self.start, self.end


@dataclass(frozen=True, slots=True)
class Parsed:
    """A line's fields, the rank that printed it, and where its message begins behind the logger's prefix."""

    fields: tuple[Field, ...]
    begins: int
    rank: Span | None
    template: str  # the line with its numbers left out


# --- what a logger puts before a message --------------------------------------------------------------

_LEVEL = r"(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|NOTICE|TRACE|SUCCESS|debug|info|warning|error)"
_PREFIX = re.compile(
    r"\s*(?:"
    r"(?P<rank>[\[(<]?"
    r"(?:[Rr]ank|RANK|[Gg]pu|GPU|[Ll]ocal[_ ]rank|[Ww]orker|[Nn]ode|cuda|device|proc(?:ess)?)"
    r"[ _:=#]{0,3}(?P<rank_number>\d{1,5})[\])>]?(?=\s*[-:|\]]|\s|$)(?:\s*/\s*\d+)?)"
    r"|\[?\(?\d{4}[-/.]\d\d?[-/.]\d\d?[ T_-]+\d\d?[:h]\d\d(?:[:m]\d\d)?(?:[.,:]\d+)?s?"
    r"(?:Z|[+-]\d\d:?\d\d)?\]?\)?"
    r"|\[?\(?\d\d?[/.-]\d\d?(?:[/.-]\d\d(?:\d\d)?)?[ T]+\d\d?:\d\d(?::\d\d)?(?:[.,]\d+)?(?: ?[AP]M)?\]?\)?"
    r"|[IWEFD]\d{4} \d\d:\d\d:\d\d\.\d+\s+\d+\s+[\w.-]+:\d+\]"
    r"|(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\w*,? )?"
    r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\w* +\d\d? "
    r"(?:\d{4} )?\d\d:\d\d:\d\d(?:\.\d+)?(?: \d{4})?"
    r"|\[?\(?\d\d?:\d\d:\d\d(?:[.,]\d+)?\]?\)?"
    rf"|{_LEVEL}:[A-Za-z_][\w.]*:(?=\S)"  # logging.basicConfig: INFO:root:message
    rf"|[\[(<]?\b{_LEVEL}\b[\])>]?"
    r"|[\[(]?[\w./<>-]+\.(?:py|cc|cpp|cu|go|rs|jl|lua)[: ]\d+(?::\w+|,? in \w+)?[\])]?"
    r"|\[(?:[A-Za-z_][\w.]*)\](?=\[|\s*[-:|])"  # Hydra: [__main__][INFO] -
    r"|[A-Za-z_][\w.]*:[\w<>]+:\d+(?= - )"  # loguru: module:function:line -
    r"|(?:__main__|root|lightning[\w.]*|pytorch_lightning[\w.]*|transformers[\w.]*|accelerate[\w.]*)\b(?=\s*[-:|])"
    r"|\(?(?:[\w.]+ )?pid=\d+(?:, ip=[\d.]+)?\)?"
    r"|\[\d+,\d+\]<std(?:out|err)>:"
    r")[ \t]*(?:[-:|,>]{1,2}(?=\s|\[|$))?[ \t]*"
)
_MOST_PREFIXES = 10
_TWO_WORDS = re.compile(rf"([A-Za-z_][\w.-]*(?:\[\d+\]:)?) +(?:{_LEVEL}\b[\s:|-]*)?([A-Za-z_]\w*)")

# --- what is no number ---------------------------------------------------------------------------------

_FILES = (
    r"pth|pt|ckpt|bin|safetensors|pkl|npz|npy|json|jsonl|yaml|yml|toml|py|txt|log|csv|tsv|png|jpg|jpeg|gif"
    r"|mp4|wav|flac|tar|gz|zip|whl|h5|hdf5|onnx|md|so|parquet|tfrecord|model|index|meta|th|caffemodel|weights"
)
_NO_NUMBER = re.compile(
    r"https?://\S+"
    rf"|[^\s,;:|\"'()\[\]]+\.(?:{_FILES})(?![\w])"
    r"|(?:(?<=[\s\"'(=])|^)(?:~|\.{1,2})?/[\w./=+@-]{2,}"
    r"|\d{1,3}%\|[^|]{0,400}\|"
    r"|\[[=>.#\-\s]{4,400}\]|[\u2500-\u25ff]{3,}"
    r"|0x[0-9a-fA-F]+|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{4,}"
    r"|(?:\d+ days?,? ?)?\d+:\d\d(?::\d\d)?(?:\.\d+)?(?![\w.])"
    r"|\d+ days?\b"
    r"|\d{4}[-/]\d\d[-/]\d\d"
    r"|(?<![\w.])v?\d+\.\d+\.\d+[\w.+-]*"
    r"|\d+h(?:\d+m)?(?:\d+s)?(?![\w])|\d+m ?\d+s(?![\w])"
    r"|(?:cuda|cpu|gpu|xpu|npu):\d+|device='[^']*'|dtype=[\w.]+|grad_fn=<[^>]{0,80}>|requires_grad=\w+"
)

_UNIT = (
    r"%|\u00b0C?|(?:[kKMBGT](?:i?B)?|[mun\u00b5]?s|secs?|seconds?|mins?|minutes?|m|h|hrs?|hours?|dB|db|W|C"
    # `12 samples/s`, and not `0.3 val/acc 0.9`, where the next name follows.
    r"|px|[A-Za-z]{1,8}/(?:[smh]|secs?|seconds?|mins?|hrs?|hours?|days?|it|iters?|steps?|batch(?:es)?|epochs?"
    r"|samples?|tok(?:en)?s?|images?|imgs?|gpu|GPU|ex(?:ample)?s?|frames?|updates?|items?|words?))(?![A-Za-z_])"
)
_PLAIN = r"\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d*)?(?:[eE][-+]?\d{1,4})?|\.\d+(?:[eE][-+]?\d{1,4})?"
_NUMBER = re.compile(
    rf"(?<![\w.@])(?P<number>[-+]?(?:(?:{_PLAIN})|(?:[nN]a[nN]|NAN|[iI]nf(?:inity)?|INF)(?![\w])))"
    rf"(?P<unit>\s?(?:{_UNIT}))?(?![\w]|\.\d)"
)
_ORNAMENT = re.compile("[\U0001f300-\U0001faff\u2600-\u27bf\ufe0f]")
# `Training loss ....... 0.123`, `loss -> 0.123`: what leads the eye from a name to its number.
_LEADER = re.compile(r"(?<=[^\W\d])[ \t]*(?:\.{3,}|_{3,}|-{2,}>?|=+>|->|\u2192|\u2026+)[ \t]*(?=[-+]?\.?\d)")
# A counter whose number is glued to its name: Epoch001, iter_200.
_GLUED = re.compile(
    r"(?<![A-Za-z_/.])(?P<name>[Ee]poch|EPOCH|[Ii]ter(?:ation)?|ITER|[Ss]tep|STEP|[Bb]atch|Ep|ep|it)[_#-]?"
    r"(?P<number>\d{1,12})(?![\w.]|-\d)"
)

# One letter is enough where a message begins with it: `E001 | ..`.
_OPENING = re.compile(r"[\s\[(]*(?P<name>E|e|S|s|I|i)(?P<number>\d{1,9})(?=[\])]?\s*[:|,\-]|[\])]?\s)")
# Chinese says the 3rd epoch: its number stands between two characters.
_ORDINAL = re.compile(
    r"\u7b2c\s?(?P<number>\d{1,12})\s?(?P<behind>\u4e2a?\s?(?P<name>\u8f6e|\u8f2a|\u6b65|epoch|step))",
    re.IGNORECASE,
)
# `Accuracy of the network on the 10000 test images: 25 %`: what is measured, and behind it on which data.
_SAID_OF = re.compile(
    r"(?P<name>[^\W\d]\w*(?: [^\W\d]\w*){0,3}?) (?:of|on|for|over|in|across)\b"
    r"(?P<where>[^:=|;,\x01]{1,80}?)(?:\s*[:=]|\s(?:is|was))\s*(?P<number>[-+]?[\d.]*\d)"
)
_DATA = re.compile(r"\b(train(?:ing)?|val|valid|validation|eval|evaluation|test|dev)\b", re.IGNORECASE)
_COUNTED = re.compile(r"\s?(batch(?:es)?|steps?|iters?|iterations?|epochs?|updates?)\b(?!\s*[:=/(\d])")

_TOLD_BEHIND = re.compile(r" ?([^\W\d][\w./-]*(?: [^\W\d][\w./-]*)?) *(?=[|,;\u00b7\u2502]|$)")
_COUNTS = re.compile(r"step|iter|epoch|batch|updates?$|\bit$|\bep$", re.IGNORECASE)
_LOSS = re.compile(r"\bloss$", re.IGNORECASE)

_BETWEEN = " ,:;-()[]|"  # what stands between two numbers and is no name

_WORD = r"[^\W\d][\w./@%+#*-]*"
_NAME = re.compile(
    rf"(?P<name>{_WORD}(?: {_WORD}){{0,7}}(?: ?\([^()\d]{{1,20}}\)| ?\[[^\[\]\d]{{1,20}}\])?)$"
)
_WRAPPED = re.compile(
    r"(?:(?:torch\.)?tensor|(?:np\.|numpy\.|jnp\.)?(?:array|float\d*|int\d*)|Array|DeviceArray|Decimal)\($"
)
_FILLERS = frozenset(
    [
        "at",
        "the",
        "is",
        "of",
        "for",
        "with",
        "after",
        "on",
        "in",
        "and",
        "to",
        "has",
        "was",
        "now",
        "by",
        "from",
        "a",
        "an",
        "done",
        "finished",
        "completed",
        "starting",
        "begin",
        "end",
        "so",
        "far",
        "each",
        "per",
        "reached",
        "took",
        "over",
        "-",
        "than",
        "=",
        "this",
        "about",
        "saved",
        "ended",
        "equals",
        "were",
        "current",
    ]
)
_STATISTICS = frozenset(
    {"avg", "mean", "ema", "best", "min", "max", "std", "median", "smooth", "running", "last"}
)


def parsed(line: str, logger: str = "") -> Parsed:
    """Everything that a line names and counts, behind the name of its logger."""
    line = line[:LONGEST_LINE]
    begins, rank = _behind_prefix(line, logger)
    text = _NO_NUMBER.sub(lambda found: BLANK * (found.end() - found.start()), line)
    text = _LEADER.sub(_as_colon, _ORNAMENT.sub(" ", text))
    text, said = _sentences(text, begins)
    fields = tuple(_fields(text, begins, said))
    return Parsed(fields, begins, rank, _template(text, begins, fields))


def _as_colon(leader: re.Match[str]) -> str:
    """A colon in the place of a leader, as long as it."""
    return ":" + " " * (len(leader[0]) - 1)


def message_begins(line: str, logger: str = "") -> int:
    """Where a line's message begins, behind what its logger puts before it."""
    return _behind_prefix(line[:LONGEST_LINE], logger)[0]


def first_words(line: str) -> tuple[str, str] | None:
    """The two words that a message begins with, where only spaces or a level stand between them."""
    found = _TWO_WORDS.match(line, message_begins(line))
    return (found[1], found[2]) if found else None


def _sentences(text: str, begins: int) -> tuple[str, dict[int, str]]:
    """The names of numbers that a sentence leads up to, and the text without the numbers on the way there."""
    said = {}
    for found in _SAID_OF.finditer(text, begins):
        data = _DATA.search(found["where"])
        if data is None or not known(found["name"]):
            continue
        told = _DATA.search(found["name"]) is not None
        said[found.start("number")] = found["name"] if told else f"{data[1]} {found['name']}"
        start, end = found.span("where")
        text = text[:start] + re.sub(r"\d", BLANK, text[start:end]) + text[end:]
    return text, said


def _behind_prefix(line: str, logger: str) -> tuple[int, Span | None]:
    begins, rank = 0, None
    for _ in range(_MOST_PREFIXES):
        if logger and line.startswith(f"{logger} ", begins):
            begins, logger = begins + len(logger) + 1, ""
        found = _PREFIX.match(line, begins)
        if found is None or found.end() == begins:
            break
        if found["rank"]:
            rank = found.span("rank_number")
        begins = found.end()
    return begins, rank


def _template(text: str, begins: int, fields: tuple[Field, ...]) -> str:
    """The message without its numbers, by which lines of one kind know each other."""
    parts, at = [], begins
    for one in fields:
        parts.append(text[at : one.start])
        at = one.end
    parts.append(text[at:])
    bare = "#".join(parts).replace(BLANK, "")
    return re.sub(r"[\s\d]+", " ", re.sub(r"\d+(?:\.\d+)?", "#", bare)).strip()


def _fields(text: str, begins: int, said: Mapping[int, str]) -> Iterator[Field]:
    """The numbers, each with its name; a total, a mean and a further element go with the number before."""
    held: Field | None = None
    at = begins
    for count, (start, end, unit, glued) in enumerate(_numbers(text, begins)):
        if count >= MOST_FIELDS:
            break
        gap = text[at:start]
        at = end + len(unit)
        unit = unit.strip()
        if glued:
            if held is not None:
                yield _named_behind(held, text)
            held = Field(glued, start, end, "", ":", "", None, gap.strip())
            continue
        bare = gap.strip()
        if held is not None and held.total is None and not held.unit and bare in {"/", "of", "out of"}:
            held = replace(held, total=(start, end))
            continue
        if held is not None and bare in {"\u00b1", "+/-", "+-", "~", "("}:
            held = _with_share(held, start, end, unit)
            continue
        field = _named(gap, start, end, unit, held)
        if start in said:
            field = replace(field, name=said[start][:LONGEST_NAME], context="")
        if held is not None:
            held, field = _shared_name(held, field, bare, text)
            yield _named_behind(held, text)
        held = field
    if held is not None:
        yield _named_behind(held, text)


def _shared_name(held: Field, field: Field, gap: str, text: str) -> tuple[Field, Field]:
    """Two numbers behind one name: `Loss at iteration 10: 0.5`, `Validation loss 1000: 0.3`."""
    if field.name or gap not in {"", ":", "=", "is", "was", "->", ","} or held.total is not None or held.unit:
        return held, field
    said = _trimmed(held.context.strip(_BETWEEN))[0]
    if gap != "," and held.name and said:
        return held, replace(field, name=said[:LONGEST_NAME], joint=":")
    counts = text[slice(*held.span)].isdigit() and not text[slice(*field.span)].isdigit()
    if gap in {"", ":"} and held.name and held.joint == " " and counts and _LOSS.search(held.name):
        return replace(held, name="step"), replace(field, name=held.name, joint=":")
    return held, field


def _named_behind(held: Field, text: str) -> Field:
    """`200/ 2983 batches`, `100 steps`: what is counted stands behind the number."""
    end = held.total[1] if held.total else held.end
    behind = _COUNTED.match(text, end) if not held.name else None
    if behind is None and not held.name and not held.unit:
        told = _TOLD_BEHIND.match(text, end)  # `0.31 loss | 1e-3 lr`
        behind = told if told is not None and known(told[1]) else None
    return replace(held, name=behind[1], unit="") if behind else held


def _numbers(text: str, begins: int) -> list[tuple[int, int, str, str]]:
    found = [(*m.span("number"), m["unit"] or "", "") for m in _NUMBER.finditer(text, begins)]
    glued = [(*m.span("number"), "", m["name"]) for m in _GLUED.finditer(text, begins)]
    if opening := _OPENING.match(text, begins):
        glued.append((*opening.span("number"), "", opening["name"]))
    ordinals = _ORDINAL.finditer(text, begins) if "\u7b2c" in text else ()
    glued += [(*m.span("number"), text[m.end("number") : m.end()], m["name"]) for m in ordinals]
    places = {start for start, *_ in glued}
    return sorted([*(one for one in found if one[0] not in places), *glued]) if glued else found


def _with_share(held: Field, start: int, end: int, unit: str) -> Field:
    """`Accuracy: 9850/10000 (98%)` is 98; any other number in brackets is a mean or a share of the total."""
    counts = _COUNTS.search(held.name) is not None
    if held.total is not None and unit == "%" and held.name and not held.opener and not counts:
        return replace(held, start=start, end=end, unit=unit, total=None)
    return held


def _named(gap: str, start: int, end: int, unit: str, before: Field | None) -> Field:
    """The field of a number, by the text since the last one."""
    rest, opener = _without_openers(gap.rstrip())
    joint = " "
    for sign in (":", "\uff1a", "->", "=>", "=", "#", " -"):
        if rest.endswith(sign):
            rest, joint = rest.removesuffix(sign).rstrip(), "=" if sign == "=" else ":"
            break
    rest = rest.rstrip("\"'`* ")
    listed = "," in gap and not set(gap) & set(")]") and not rest.strip(", ") and joint == " "
    if listed and before is not None and before.opener in {"[", "("}:
        return _further(before, start, end, unit)
    words = _NAME.search(rest)
    if words is None:
        return Field("", start, end, unit, joint, opener, None, rest)
    name, context = _trimmed(words["name"])
    context = rest[: words.start()] + context
    if before is not None and before.name and gap.lstrip().startswith("(") and name.lower() in _STATISTICS:
        name = f"{before.name} {name}"
    return Field(name[:LONGEST_NAME], start, end, unit, joint, opener, None, context)


def _without_openers(rest: str) -> tuple[str, str]:
    opener = ""
    while rest:
        wrapped = _WRAPPED.search(rest)
        if wrapped:
            rest = rest[: wrapped.start()].rstrip()
        elif rest[-1] in "[({<\"'$`*":
            opener = rest[-1] if rest[-1] in "[({<" else opener
            rest = rest[:-1].rstrip()
        else:
            break
    return rest, opener


def _further(before: Field, start: int, end: int, unit: str) -> Field:
    """The next element of a list: `lr: [1e-4, 1e-5]` has lr and lr/1."""
    base, _, index = before.name.rpartition("/")
    if base and index.isdigit():
        name = f"{base}/{int(index) + 1}"
    else:
        name = f"{before.name}/1" if before.name else ""
    return Field(name, start, end, unit, ",", before.opener, None, before.context)


def _trimmed(name: str) -> tuple[str, str]:
    """A name without the words that only lead up to it, and those words."""
    words = name.split(" ")
    while len(words) > 1 and _is_filler(words[-1]):
        words.pop()
    first = 0
    for place, word in enumerate(words[:-1]):
        if _is_filler(word) or word.endswith((".", "-")):
            first = place + 1
    first = max(first, len(words) - MOST_WORDS)
    kept = " ".join(words[first:]).rstrip(".-*")
    if _is_filler(kept):
        return "", name
    return kept, " ".join(words[:first])


def _is_filler(word: str) -> bool:
    """Whether a word only leads up to a name; one in capitals, such as PER, is a name itself."""
    return word in _FILLERS or (word.istitle() and word.lower() in _FILLERS)
