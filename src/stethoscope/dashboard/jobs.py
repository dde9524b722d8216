"""What the process that all others are forked from imports: every rule, cause and reader, once for all."""

from __future__ import annotations

from stethoscope import causes, findings, logs
from stethoscope.dashboard import following
from stethoscope.dashboard.joined import summaries

__all__ = ["following", "summaries"]

for everything in (logs.formats, findings.catalogue, causes.catalogue):
    everything()
