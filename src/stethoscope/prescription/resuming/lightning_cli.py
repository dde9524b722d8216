"""Lightning's command line: `fit --ckpt_path`."""

from __future__ import annotations

from stethoscope.prescription.resuming._patient import Patient, Way
from stethoscope.run import Where

PRIORITY = 10


def find(patient: Patient) -> Way | None:
    """The call of a script that makes a LightningCLI."""
    for source in patient.sources("LightningCLI("):
        line = source.text[: source.text.index("LightningCLI(")].count("\n") + 1
        return Way(
            _command(patient),
            "LightningCLI gives fit the option --ckpt_path, which restores everything that a .ckpt holds",
            (Where(source.file, line=line),),
        )
    return None


def _command(patient: Patient) -> str | None:
    given = ("--ckpt_path", patient.checkpoint.path)
    if patient.started is not None:
        return patient.command(*given)
    config = patient.settings_file()
    named = ("--config", config.file) if config else ()
    return patient.command("fit", *named, *given)
