"""Train the sick project and its cured twin, and keep both runs as examples."""

import sys
from functools import partial
from pathlib import Path

from stethoscope.clinic.cases.protein_sedd.cure import CURE, copy_project
from stethoscope.clinic.recording import Recording, keep_files, record

SCRIPT = """
mkdir -p results/protein
out=results/protein
python train.py --config configs/config_protein.yaml --work_dir $out 2>&1 | tee $out/train.log
last=$(ls results/protein/checkpoints | sort -V | tail -n 1)
for checkpoint in best_checkpoint.pth "$last"; do
    python evaluate.py results/protein/config.yaml "results/protein/checkpoints/$checkpoint"
done > results/protein/evaluation.txt
"""


def keep(project: Path, target: Path) -> None:
    """Keep the work folder and, in code/, the source that ran."""
    keep_files(project / "results" / "protein", target, left_out=(".pth",))
    copy_project(target / "code", CURE if target.name.endswith("-cured") else ())


RECORDINGS = (
    Recording("protein-sedd", copy_project, SCRIPT, keep),
    Recording("protein-sedd-cured", partial(copy_project, edits=CURE), SCRIPT, keep),
)

if __name__ == "__main__":
    sys.exit(record(RECORDINGS))
