"""Splices for YAML: only the value changes; comments, tags and layout stay."""

from __future__ import annotations

from stethoscope.run import ConfigFile, Setting, Splice


def replaced(setting: Setting, text: str) -> Splice | None:
    """The setting's value replaced by this text."""
    if setting.span is None:
        return None
    return Splice(setting.where.file, *setting.span, text)


def removed(setting: Setting, config: ConfigFile) -> Splice | None:
    """The setting's whole line taken out, where it stands on a line of its own."""
    if setting.span is None or not setting.key or not isinstance(setting.key[-1], str):
        return None
    start = config.text.rfind("\n", 0, setting.span[0]) + 1
    end = config.text.find("\n", setting.span[1])
    end = len(config.text) if end < 0 else end + 1
    line = config.text[start:end]
    if not line.lstrip().startswith((setting.key[-1], f'"{setting.key[-1]}"', f"'{setting.key[-1]}'")):
        return None
    return Splice(setting.where.file, start, end, "")
