"""A key of the settings that names what to go on from: BasicSR's `path.resume_state`, `resume: null`."""

from __future__ import annotations

from stethoscope.prescription.resuming._patient import Patient, Way
from stethoscope.program.resume.resume_options import is_for_resuming
from stethoscope.run import Setting

PRIORITY = 30
STATE = "resume_state"  # of BasicSR, neosr and traiNNer: a .state file that lies apart from the weights
WEIGHTS = "pretrain_network_g"


def find(patient: Patient) -> Way | None:
    """The key to set, and the command that reads it."""
    state = patient.setting(STATE)
    if state is not None:
        return _of_basicsr(patient, state)
    for setting in patient.run.recipe or ():
        if is_for_resuming(setting.leaf) and _is_a_path(setting) and patient.setting(setting.leaf) == setting:
            return _way(patient, setting, patient.checkpoint.path)
    return None


def _of_basicsr(patient: Patient, setting: Setting) -> Way:
    saved = patient.state()
    if saved is not None:
        return _way(patient, setting, saved.file)
    weights = patient.setting(WEIGHTS)
    lost = ("optimizer moments, schedule position and the count of steps: no training state was saved there",)
    if weights is None:
        how = (
            f"no training state was saved at step {patient.checkpoint.step}, which {setting.dotted} asks for"
        )
        return Way(None, how, (setting.where,), loses=lost)
    way = _way(patient, weights, patient.checkpoint.path)
    return Way(way.command, way.how, way.where, way.first, lost)


def _way(patient: Patient, setting: Setting, path: str) -> Way:
    return Way(
        patient.command(),
        f"{setting.dotted} names what to go on from",
        (setting.where,),
        f"set {setting.dotted} to {path} ({setting.where})",
    )


def _is_a_path(setting: Setting) -> bool:
    """Whether a key takes a path: it holds one, or nothing yet; a switch does not."""
    return setting.value is None or (isinstance(setting.value, str) and setting.value != "auto")
