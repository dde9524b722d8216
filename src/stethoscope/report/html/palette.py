"""The colours of the page, on light and on dark screens, as variables of its style.

The page follows the reader's screen until a theme is chosen. Lines have the colours they have in pictures.
"""

from __future__ import annotations

from stethoscope.figures.colours import DARK, LIGHT, Colours

# What each variable is on a light screen, and what on a dark one.
VARIABLES = {
    "raised": ("#f6f8fa", "#1b2027"),
    "rule": ("#d0d7de", "#3a424c"),
    "link": ("#0757a8", "#6cb6ff"),
    "focus": ("#0757a8", "#6cb6ff"),
    "good": ("#1a7f37", "#56d364"),
    "bad": ("#c62f2f", "#ff7b72"),
    "warn": ("#9a5b00", "#e3b341"),
    "added": ("#e6f6e9", "#12301c"),
    "added-strong": ("#b4e6bf", "#1f5a30"),
    "removed": ("#fdeceb", "#3a1d1d"),
    "removed-strong": ("#f8c4bf", "#6e2a27"),
    "highlight": ("rgba(255,196,0,.28)", "rgba(255,196,0,.22)"),
    "shown": ("rgba(255,196,0,.13)", "rgba(255,196,0,.08)"),
    "shown-edge": ("rgba(230,160,0,.9)", "rgba(255,196,0,.8)"),
    "regime-even": ("rgba(0,114,178,.05)", "rgba(86,180,233,.07)"),
    "regime-odd": ("rgba(0,0,0,0)", "rgba(0,0,0,0)"),
    "mark-onset": ("#c62f2f", "#ff7b72"),
    "mark-best": ("#1a7f37", "#56d364"),
    "mark-checkpoint": ("#1a7f37", "#56d364"),
    "mark-restart": ("#8716f4", "#a07cff"),
    "mark-regime": ("#59636e", "#9da7b3"),
    "mark-message": ("#9a5b00", "#e3b341"),
}


def rules() -> str:
    """The style that sets every variable, for both kinds of screens."""
    light = _declared(LIGHT, [(name, pair[0]) for name, pair in VARIABLES.items()])
    dark = _declared(DARK, [(name, pair[1]) for name, pair in VARIABLES.items()])
    return (
        f":root{{{light}}}:root[data-theme=light]{{color-scheme:light}}"
        f":root[data-theme=dark]{{color-scheme:dark;{dark}}}"
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme]){{{dark}}}}}"
    )


def _declared(colours: Colours, named: list[tuple[str, str]]) -> str:
    shared = [
        ("background", colours.background),
        ("ink", colours.ink),
        ("faint", colours.faint_ink),
        ("grid", colours.grid),
        *((f"line-{at}", colour) for at, colour in enumerate(colours.lines)),
    ]
    return "".join(f"--{name}:{value};" for name, value in [*shared, *named])
