"""Keys that a framework does not have, told from the document alone."""

from __future__ import annotations

from stethoscope.recipe.schemas import Record, Standing, called, nearest
from stethoscope.review.claim import Fact, Judgement, Ruling
from stethoscope.review.question import Question
from stethoscope.run import ConfigFile, Recipe, Run, Setting, Where
from stethoscope.signals import Missing
from stethoscope.signals.unknown_settings import measure

# Where the classes that people call by their last name live.
_HOMES = (
    *("transformers", "trl", "lightning.pytorch", "lightning", "pytorch_lightning", "accelerate"),
    *("torch.optim", "torch.optim.lr_scheduler", "torch.utils.data", "torch.amp", "mmengine"),
)


def unknown_to_framework(question: Question) -> Judgement | None:
    """Unknown to the class that the document hands it to, or to the framework whose file its block is."""
    return _unknown_to_call(question) or _unknown_in_block(question)


def _unknown_to_call(question: Question) -> Judgement | None:
    record = _record(question.proposal.call)
    name = question.proposal.names[0][-1]
    if record is None or not record.refuses or record.standing(name, {}) is Standing.KNOWN:
        return None
    taken = set(record.taken({}))
    renamed = {old: new for one in record.lineage() for old, new in one.table.renamed.items()}
    former = {other for one in record.lineage() for other in one.names}
    meant = nearest(name, taken, renamed) or nearest(name, former, renamed)
    table = record.table
    is_gone = record.standing(name, {}) is Standing.GONE
    history = f" since some release up to {table.spoken(table.newest)}" if is_gone else ""
    why = f"{question.proposal.call} of {table.framework} does not take {name}{history}"
    why += f"; did it mean {meant.name}?" if meant else ""
    return Judgement(Ruling.UNKNOWN_KEY, why, (Fact(why, (), "schema"),))


def _record(call: str) -> Record | None:
    homes = (called(f"{home}.{call}") for home in _HOMES) if call else ()
    return next((record for record in homes if record is not None), None)


def _unknown_in_block(question: Question) -> Judgement | None:
    """The block read as a settings file of its own: what it holds may tell whose file it is."""
    file = question.proposal.where.file
    targets = (question.target, *question.siblings)
    settings = tuple(
        Setting(one.key, one.value, Where(file, line=number)) for number, one in enumerate(targets, start=1)
    )
    run = Run(file, file, recipe=Recipe(settings, (ConfigFile(file, "", "given"),)))
    measured = measure(run)
    if isinstance(measured, Missing):
        return None
    dotted = question.target.dotted
    unknown = next((one for one in measured.settings if f"{dotted}.".startswith(f"{one.name}.")), None)
    if unknown is None:
        return None
    meant = f"; did it mean {unknown.suggestion}?" if unknown.suggestion else ""
    history = f" ({unknown.history})" if unknown.history else ""
    why = f"{unknown.name} is not known to {unknown.judge}{history}{meant}"
    return Judgement(Ruling.UNKNOWN_KEY, why, (Fact(why, (), "schema"),))
