"""Edits, made: what an arm's files, command and environment are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from stethoscope.errors import StethoscopeError
from stethoscope.prescription.edits.rewriting import decoded
from stethoscope.trials.patching import FilePatch, parsed, patched
from stethoscope.trials.setting_edits import with_value
from stethoscope.trials.trial import Change, Comment, Edit, Flag, NewValue, Patch, Replacement, Variable

# A comment in each kind of file. JSON has none: a blank line at the end says as little.
COMMENT = "# placebo: this line cannot act"
COMMENTS = {
    **dict.fromkeys((".py", ".yaml", ".yml", ".toml", ".sh", ".bash", ".cfg", ".ini", ".gin"), COMMENT),
    **dict.fromkeys((".json", ".txt", ".md", ".jsonl"), ""),
}

# At the end of YAML, a line end may become part of the text block before it.
AT_THE_BEGINNING = (".yaml", ".yml")

Read = Callable[[str], bytes | None]  # the content of a file of the project, None where there is none


@dataclass(frozen=True, slots=True)
class Edited:
    """What differs from the project as it stands; a file whose content is None is removed."""

    files: dict[str, bytes | None] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)


def edited(
    read: Read,
    command: tuple[str, ...],
    base: Iterable[Edit],
    changes: Iterable[Change],
    config: str = "",
) -> Edited:
    """Make the edits of `base`, then those of the changes; raises StethoscopeError where one does not fit."""
    made = Edited(command=command)
    for edit in base:
        made = _made(edit, made, read, config)
    for change in changes:
        for edit in change.edits:
            try:
                made = _made(edit, made, read, config)
            except StethoscopeError as problem:
                raise StethoscopeError(f"the change {change.name} cannot be made: {problem}") from None
    return made


def placebo_for(changes: Iterable[Change], config: str = "") -> Change:
    """A change that cannot act, made where the others are: a comment in a file that they edit."""
    for change in changes:
        for edit in change.edits:
            file = _file_of(edit, config)
            if file and PurePosixPath(file).suffix in COMMENTS:
                what = "a blank line" if not COMMENTS[PurePosixPath(file).suffix] else "a comment"
                return Change("placebo", (Comment(file),), f"{what} in {file}", in_cure=False)
    variable = Variable("STETHOSCOPE_PLACEBO", "1")
    return Change("placebo", (variable,), "an environment variable that nothing reads", in_cure=False)


def edited_files(base: Iterable[Edit], changes: Iterable[Change], config: str = "") -> tuple[str, ...]:
    """Every file that is edited in some arm, and the settings file."""
    edits = [*base, *(edit for change in changes for edit in change.edits)]
    found = [file for edit in edits for file in _files_of(edit, config)]
    return tuple(dict.fromkeys(filter(None, [config, *found])))


def _files_of(edit: Edit, config: str) -> list[str]:
    if isinstance(edit, Patch) and not edit.file:
        return [file for patch in parsed(edit.diff) for file in (patch.old, patch.new) if file]
    return [_file_of(edit, config)]


def _file_of(edit: Edit, config: str) -> str:
    if isinstance(edit, Replacement | Comment):
        return edit.file
    if isinstance(edit, NewValue):
        return edit.file or config
    if isinstance(edit, Patch):
        return edit.file or parsed(edit.diff)[0].file
    return ""


def _made(edit: Edit, made: Edited, read: Read, config: str) -> Edited:
    if isinstance(edit, Variable):
        return replace(made, variables=made.variables | {edit.name: edit.value})
    if isinstance(edit, Flag):
        return replace(made, command=_with_flag(made.command, edit))
    files = dict(made.files)
    if isinstance(edit, Patch):
        for patch in parsed(edit.diff):
            named = replace(patch, old=edit.file, new=edit.file) if edit.file else patch
            before = _content(named.old, files, read) if named.old is not None else None
            files |= _with_patch(named, before)
        return replace(made, files=files)
    file = _file_of(edit, config)
    if not file:
        raise StethoscopeError(f"nothing says which file holds {edit}; give --config.")
    content = _content(file, files, read)
    if content is None:
        raise StethoscopeError(f"{file} does not exist in the project.")
    if isinstance(edit, NewValue):
        files[file] = with_value(content, file, edit.key, edit.value)
    elif isinstance(edit, Replacement):
        files[file] = _with_text(content, edit)
    else:
        files[file] = _with_comment(content, file)
    return replace(made, files=files)


def _content(file: str, files: dict[str, bytes | None], read: Read) -> bytes | None:
    return files[file] if file in files else read(file)


def _with_text(content: bytes, edit: Replacement) -> bytes:
    text, encoding = decoded(content, edit.file)
    old, to = edit.old, edit.to
    if old not in text and "\r\n" in text:
        old, to = old.replace("\n", "\r\n"), to.replace("\n", "\r\n")
    if text.count(old) != 1:
        times = text.count(old)
        raise StethoscopeError(
            f"{edit.file}: {edit.old[:60]!r} is to be replaced and is there {times} times."
        )
    return text.replace(old, to).encode(encoding)


def _with_patch(patch: FilePatch, before: bytes | None) -> dict[str, bytes | None]:
    """The files that a patch leaves otherwise; `before` is the content of the one it changes."""
    if patch.old is None:
        return {patch.file: patched("", patch).encode()}
    if before is None:
        raise StethoscopeError(f"{patch.old} does not exist in the project.")
    if patch.new is None:
        return {patch.old: None}
    text, encoding = decoded(before, patch.file)
    return {patch.old: None} | {patch.new: patched(text, patch).encode(encoding)}


def _with_comment(content: bytes, file: str) -> bytes:
    comment = COMMENTS.get(PurePosixPath(file).suffix)
    if comment is None:
        raise StethoscopeError(f"{file}: no comment is known that cannot act in such a file.")
    text, encoding = decoded(content, file)
    end = "\r\n" if "\r\n" in text else "\n"
    if file.endswith(AT_THE_BEGINNING):
        return f"{comment}{end}{text}".encode(encoding)
    gap = "" if not text or text.endswith(("\n", "\r")) else end
    return f"{text}{gap}{comment}{end}".encode(encoding)


def _with_flag(command: tuple[str, ...], flag: Flag) -> tuple[str, ...]:
    words = list(command)
    for at, word in enumerate(words):
        if word.startswith(f"{flag.name}="):
            words[at] = flag.name if flag.value is None else f"{flag.name}={flag.value}"
            return tuple(words)
        if word == flag.name:
            return _with_word(words, at, flag)
    return (*words, flag.name) if flag.value is None else (*words, f"{flag.name}={flag.value}")


def _with_word(words: list[str], at: int, flag: Flag) -> tuple[str, ...]:
    """The value behind an option replaced, where there is one."""
    behind = words[at + 1] if at + 1 < len(words) else None
    has_value = behind is not None and (not behind.startswith("-") or _is_number(behind))
    if flag.value is None:
        if not has_value:
            raise StethoscopeError(f"the command has {flag.name} already, so this changes nothing.")
        raise StethoscopeError(f"the command has {flag.name} {behind}; give {flag.name}=VALUE.")
    if has_value:
        if behind == flag.value:
            raise StethoscopeError(f"the command has {flag.name} {behind} already, so this changes nothing.")
        words[at + 1] = flag.value
    else:
        words[at] = f"{flag.name}={flag.value}"
    return tuple(words)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
