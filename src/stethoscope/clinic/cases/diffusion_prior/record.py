"""Train the sick project and its cured twin, and keep both runs as examples."""

import sys
from functools import partial
from pathlib import Path

from stethoscope.clinic.cases.diffusion_prior.cure import CURE, copy_project
from stethoscope.clinic.recording import Recording, keep_files, record

SCRIPT = """
bash run.sh
for model in best_model checkpoints/checkpoint_step_0004800; do
    echo "$model"
    python evaluate.py results/prior/$model.pth run.sh
done > results/prior/evaluation.txt
"""


def keep(project: Path, target: Path) -> None:
    """Keep the output folder and, in code/, the source that ran."""
    keep_files(project / "results" / "prior", target, left_out=(".pth",))
    copy_project(target / "code", CURE if target.name.endswith("-cured") else ())


RECORDINGS = (
    Recording("diffusion-prior", copy_project, SCRIPT, keep),
    Recording("diffusion-prior-cured", partial(copy_project, edits=CURE), SCRIPT, keep),
)

if __name__ == "__main__":
    sys.exit(record(RECORDINGS))
