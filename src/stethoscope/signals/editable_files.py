"""The files with settings, where a value can be given another one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stethoscope.run import Fix, Level, Run, Setting, Splice
from stethoscope.signals.missing import Missing


@dataclass(frozen=True, slots=True, eq=False)
class EditableFiles:
    """The texts of settings files and sources by their names, records of a run among them."""

    texts: Mapping[str, str]

    def with_value(
        self, setting: Setting, value: float | str, title: str, level: Level = Level.UNSAFE
    ) -> Fix | None:
        """The fix that writes another value for a setting, where its text stands as it was read.

        None where the value came by way of other lines, or depends on what only the run knew.
        """
        splice = self.splice(setting, value)
        return Fix(title, level, (splice,)) if splice is not None else None

    def splice(self, setting: Setting, value: float | str) -> Splice | None:
        """Another value in the place of a setting's."""
        text, span = self.texts.get(setting.where.file), setting.span
        if text is None or span is None or setting.through or not setting.known or not setting.plain:
            return None
        if text[span[0] : span[1]] != setting.text:
            return None
        return Splice(setting.where.file, span[0], span[1], value if isinstance(value, str) else plain(value))


def plain(number: float) -> str:
    """A number as it is read back by every format: whole where it is whole, with a dot where it is not."""
    if number == int(number):
        return str(int(number))
    return f"{number:.10f}".rstrip("0")


_SWITCHES = (("true", "false"), ("yes", "no"), ("on", "off"), ("1", "0"))


def off(setting: Setting) -> str:
    """How a switch that is on is written when it is off, in the words and the case of its file."""
    return _other_way(setting, dict(_SWITCHES))


def on(setting: Setting) -> str:
    """How a switch that is off is written when it is on."""
    return _other_way(setting, {no: yes for yes, no in _SWITCHES})


def _other_way(setting: Setting, words: Mapping[str, str]) -> str:
    text = setting.text
    found = words.get(text.lower(), text)
    return found.title() if text.istitle() else found.upper() if text.isupper() else found


def measure(run: Run) -> EditableFiles | Missing:
    """Gather what was read as text. A record of a run is shown with the fix in it, and never written."""
    texts = {file.file: file.text for file in (run.recipe.files if run.recipe else ())}
    texts.update({source.file: source.text for source in (run.program or ())})
    return EditableFiles(texts) if texts else Missing("no settings and no source were read")
