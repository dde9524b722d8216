"""Live protection inside the training loop: sense on the device, judge on the host, act before the damage."""

from __future__ import annotations

from importlib.util import find_spec

from stethoscope.errors import GuardStopped, MissingExtra

if find_spec("torch") is None:
    raise MissingExtra("Guard needs torch: pip install 'stethoscope[torch]'")

from stethoscope.guard.guard import Guard
from stethoscope.guard.happening import Happening, Kind, Severity
from stethoscope.guard.policy import Policy, Threshold

__all__ = ["Guard", "GuardStopped", "Happening", "Kind", "Policy", "Severity", "Threshold"]
