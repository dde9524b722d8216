"""Train the sick project and its cured twin, each in four sessions, and keep both runs as examples.

Needs Hydra beside torch. A session ends after 4 of 16 epochs, as on a cluster that limits a job's time.
"""

import sys
from functools import partial
from pathlib import Path

from stethoscope.clinic.cases.deblur_fft.cure import CURE, copy_project
from stethoscope.clinic.recording import Recording, keep_files, record

# What stands for the folder of the recording machine in the settings that Hydra writes down.
RECORDED_AS = "/srv/deblur-fft"

# The sick project keeps the weights of its best epochs, the cured one everything of its last.
SICK = """
run="python train.py device=cpu hydra.run.dir=outputs/run train.session_epochs=4"
$run
for session in 2 3 4; do
    best=$(ls outputs/run/checkpoints | sort -V | tail -n 1)
    epoch=${best//[!0-9]/}
    $run train.last_checkpoint=outputs/run/checkpoints/$best train.start_epoch=$((epoch + 1))
done
"""
CURED = """
run="python train.py device=cpu hydra.run.dir=outputs/run train.session_epochs=4"
$run
for session in 2 3 4; do
    $run train.last_checkpoint=outputs/run/checkpoints/last.pt
done
"""


def keep(project: Path, target: Path) -> None:
    """Keep Hydra's output folder and, in code/, the source that ran."""
    keep_files(project / "outputs" / "run", target, left_out=(".pt",))
    for file in (target / ".hydra").iterdir():
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace(str(project.resolve()), RECORDED_AS), encoding="utf-8")
    copy_project(target / "code", CURE if target.name.endswith("-cured") else ())


RECORDINGS = (
    Recording("deblur-fft", copy_project, SICK, keep),
    Recording("deblur-fft-cured", partial(copy_project, edits=CURE), CURED, keep),
)

if __name__ == "__main__":
    sys.exit(record(RECORDINGS))
