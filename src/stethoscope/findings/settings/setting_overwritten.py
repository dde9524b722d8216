"""A setting is parsed and then overwritten before anything reads it.

## What it checks
Flags, options, fields and lines of settings files whose value the code replaces on every way through it:
`args.lr = 1e-3` behind `parse_args()`, `cfg.train.batch_size = 4` behind the loading of the file, a
parameter of a click or typer command that gets a value at the top of its function, a constant that is set
again behind the configurator that may have changed it, what `self.config` of a LightningCLI holds before the
objects are made, flags without a default over which a file is poured that has them too, and lines of a file
that a flag always replaces because it has a default of its own (`cfg["lr"] = args.lr`). The same of all
settings at once: an object that was made with what was typed and is then loaded anew without it, a changed
copy that nobody keeps (`OmegaConf.merge(cfg, typed)`), and defaults that are poured over what was given. And
options that a shell script writes behind `"$@"`.

## Why it matters
Whatever is typed or written, the run uses the value in the code. It is mostly left over from an experiment,
and every later search over that setting compares runs that are all the same.

## When it is harmless
A value that is scaled, converted or completed from what was given (`args.lr = args.lr * world_size`), one
that is replaced only under a condition (`if args.lr is None`), one that was read before, and the settings of
an object that the code itself makes (`Config()`, `parse_args([])`) are not this. A setting that does not
concern training is only noted.

## References
- setting-never-used is a setting whose value nobody reads at all.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.statements import blocks_around, cut
from stethoscope.run import Fix, Level
from stethoscope.signals.overwritten_settings import OverwrittenSetting, OverwrittenSettings

RULE = Rule(code="SET130", since="0.2", severity=Severity.WARNING, subject=Subject.SETTINGS)


def examine(overwritten: OverwrittenSettings) -> Iterator[Finding]:
    """Fire on each setting that is replaced before it is read."""
    for setting in overwritten.settings:
        yield _finding(setting)
    for option in overwritten.fixed:
        yield Finding(
            option.where,
            f"--{option.name} {option.value} stands behind the words that the script passes on: "
            "whoever types another one is not heard",
            evidence={"setting": option.name, "value": option.value},
            proof="of an option that is typed twice the last one counts",
        )


def _finding(setting: OverwrittenSetting) -> Finding:
    found = setting.statement
    name = ".".join(found.path)
    given = f" (given as {setting.value!r})" if setting.value is not None else ""
    untyped = f", which is {ast.unparse(found.default)} where nobody types it," if found.default else ""
    return Finding(
        (found.where, *setting.given),
        found.told
        or f"{name}{given} is replaced by {ast.unparse(found.value)}{untyped} before anything reads it",
        evidence={"setting": name, "statement": found.text},
        strength=1.0 if setting.matters else 0.0,
        proof="nothing between the parser and this statement reads the value, and the statement always runs",
        severity=None if setting.matters else Severity.NOTE,
        fix=_fix(setting),
    )


def _fix(setting: OverwrittenSetting) -> Fix | None:
    """Taking the statement out lets the setting act; that is another experiment."""
    found = setting.statement
    around = blocks_around(found.source, found.statement)
    if not around or not found.is_alone or found.default is not None:  # without it the flag would be dead
        return None
    splice = cut(found.source, *around[0])
    return Fix(f"let {found.name} be what was asked for", Level.UNSAFE, (splice,)) if splice else None
