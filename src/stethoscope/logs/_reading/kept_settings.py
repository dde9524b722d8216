"""The settings that a tracker kept of a run, as a text that the settings' readers understand."""

from __future__ import annotations

import json
from collections.abc import Mapping

from stethoscope.run import Document


def kept_settings(settings: Mapping[str, object], file: str) -> tuple[Document, ...]:
    """One document of them; none where there are none, or where they are nested beyond all reason."""
    if not settings:
        return ()
    try:
        text = json.dumps(settings, indent=2)
    except (RecursionError, ValueError):
        return ()
    return (Document(text + "\n", "json", file, 1),)
