"""Everything a diagnosis imports, imported: the processes that examine runs begin with it."""

from __future__ import annotations

import warnings

from stethoscope import causes, findings, logs, prescription
from stethoscope.diagnose import diagnose
from stethoscope.recipe.quantities import quantities

__all__ = ["diagnose"]

# Parsing a stranger's source may warn about it; that is no line of a report.
warnings.simplefilter("ignore")

findings.catalogue()
causes.catalogue()
logs.formats()
quantities()
prescription.catalogue()
