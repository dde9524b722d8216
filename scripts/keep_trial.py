"""Keep what `stethoscope clinic trial CASE --into FOLDER` found as the record of that case.

python scripts/keep_trial.py FOLDER...
"""

from __future__ import annotations

import sys
from pathlib import Path

from stethoscope.clinic.recorded import keep

for folder in sys.argv[1:]:
    print(f"wrote {keep(Path(folder) / 'trial.json')}")
