"""What the process that all others are forked from imports: everything that a report needs, once for all."""

from __future__ import annotations

from stethoscope.dashboard import following, scout
from stethoscope.dashboard.joined import summaries
from stethoscope.triage import preloaded

__all__ = ["following", "preloaded", "scout", "summaries"]
