"""An option of the script's own parser: `--resume PATH`, `--resume_from_checkpoint DIR`, `--auto_resume`."""

from __future__ import annotations

from stethoscope.prescription.resuming._patient import Patient, Way
from stethoscope.program.resume.resume_options import is_for_resuming
from stethoscope.recipe.parser_defaults import Option, options_in
from stethoscope.run import Source
from stethoscope.signals.missing import Missing
from stethoscope.signals.resume_options import measure

PRIORITY = 20


def find(patient: Patient) -> Way | None:
    """The option that reaches a checkpoint; one that reaches nothing is said to."""
    idle = _idle(patient)
    dead: Way | None = None
    for option in sorted(_options(patient), key=lambda one: one.switch):
        name = option.setting.leaf
        if name in idle:
            how = f"--{name} is declared, and nothing acts on it: the run would start anew"
            dead = dead or Way(None, how, (option.setting.where,))
        else:
            return _way(patient, option)
    return dead


def _options(patient: Patient) -> list[Option]:
    # Sorted by the script first: a tool beside the training may have an option of the same name.
    sources: list[Source] = sorted(patient.run.program or (), key=lambda one: one is not patient.script)
    found = [option for source in sources for option in options_in(source)]
    return [one for one in found if one.flags and is_for_resuming(one.setting.leaf)]


def _idle(patient: Patient) -> frozenset[str]:
    measured = measure(patient.run)
    return frozenset() if isinstance(measured, Missing) else frozenset(o.option.name for o in measured.idle)


def _way(patient: Patient, option: Option) -> Way:
    flag = f"--{option.flags[-1]}" if len(option.flags[-1]) > 1 else f"-{option.flags[-1]}"
    flag = _as_declared(patient, option, flag)
    if option.switch:
        command = patient.command(flag)
        how = f"{flag} goes on from what the program itself finds, which may be another checkpoint"
    else:
        command = patient.command(flag, patient.checkpoint.path)
        how = f"the script has the option {flag}"
    more = "" if patient.is_whole() or command is None else "; give the other options of the first call, too"
    return Way(command, how + more, (option.setting.where,))


def _as_declared(patient: Patient, option: Option, flag: str) -> str:
    """The flag with the dashes that it is declared with."""
    dashed = "--" + flag.lstrip("-").replace("_", "-")
    source = patient.run.program.source(option.setting.where.file) if patient.run.program else None
    if source is None or f'"{flag}"' in source.text or f"'{flag}'" in source.text:
        return flag
    return dashed if f'"{dashed}"' in source.text or f"'{dashed}'" in source.text else flag
