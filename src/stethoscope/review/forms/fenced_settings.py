"""A fenced block of settings: the new values, or a whole corrected file.

# BEFORE                       lr: 1e-4   # was 1e-3
lr: 0.001                      BATCH_SIZE="32"
# AFTER                        TrainingArguments(learning_rate=1e-5)
lr: 0.0002
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.review.claim import Proposal
from stethoscope.review.intent import NEW, OLD, around
from stethoscope.review.parts import Part, PartKind
from stethoscope.review.settings_lines import Written, looks_like_settings, settings_in
from stethoscope.review.values import same
from stethoscope.run import Where
from stethoscope.run.names import canonical, known

_NAMED = frozenset(
    {
        *("yaml", "yml", "toml", "json", "jsonc", "json5", "ini", "cfg", "conf", "config"),
        *("properties", "env", "dotenv", "bash", "sh", "shell", "zsh", "console", "powershell"),
        *("python", "py", "python3", "hydra", "gin"),
    }
)
_UNNAMED = frozenset({"", "text", "txt", "plaintext", "plain"})
WHOLE_FILE = 10  # settings from which on a block is a whole file, of which only the differences are proposed


def read(part: Part) -> Iterator[Proposal]:
    """The settings that a block wants, each with the value it is to replace where the block shows that."""
    if part.kind is not PartKind.FENCE or not _holds_settings(part):
        return
    written = settings_in(part.lines, part.info)
    context = around(part.headings, part.lead)
    old, new = _parted(written, context)
    before = {one.path[-1]: one for one in old}
    # Where a line says what it was before, the lines that do not are only shown with it.
    tells = any(one.before for one in new)
    for one in new:
        earlier = before.get(one.path[-1])
        yield Proposal(
            one.line,
            Where(line=one.number),
            (one.path,),
            one.value,
            one.before or (earlier.value if earlier and not same(earlier.value, one.value) else ""),
            marked=one.is_marked,
            whole=not one.is_marked and (tells or len(new) >= WHOLE_FILE or _is_kept(one, earlier)),
            block=part.number,
            syntax=part.info,
            call=one.call,
        )


def _is_kept(one: Written, earlier: Written | None) -> bool:
    """Whether a block shows the same value on both of its sides."""
    return earlier is not None and same(earlier.value, one.value)


def _holds_settings(part: Part) -> bool:
    if part.info in _NAMED:
        return True
    return part.info in _UNNAMED and looks_like_settings(part.lines) and not _tells_figures(part)


def _tells_figures(part: Part) -> bool:
    """Whether an unnamed block is a line of a log, `loss: 0.5`, rather than settings."""
    names = [one.path[-1] for one in settings_in(part.lines, part.info)]
    return any(known(name) and canonical(name) != "lr" for name in names)


def _parted(written: list[Written], context: str) -> tuple[list[Written], list[Written]]:
    """What is there and what is wanted. Of a key given twice without a word, the first is what is there."""
    old = [one for one in written if one.said == OLD]
    new = [one for one in written if one.said == NEW]
    silent = [one for one in written if not one.said]
    has_sections = bool(new) or bool(old)
    if not has_sections and context != OLD:
        last = {one.path: one for one in silent}
        old = [one for one in silent if last[one.path] is not one]
        return old, [one for one in silent if last[one.path] is one]
    if context == OLD and not new:
        return written, []
    if new or context == NEW or not old:
        return old, sorted([*new, *silent], key=lambda one: one.number)
    return [*old, *silent], []
