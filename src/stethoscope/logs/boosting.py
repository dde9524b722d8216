"""The rounds of gradient boosting, as XGBoost, LightGBM and CatBoost print them.

    [0]	train-mlogloss:1.27756	eval-mlogloss:1.29764                     (XGBoost)
    [0]	train-rmse:1.03113+0.26172	test-rmse:1.05215+0.54753             (XGBoost, mean and spread of folds)
    [1]	training's multi_logloss: 1.209	valid_1's multi_logloss: 1.255    (LightGBM)
    [LightGBM] [Info] Iteration:1, training auc : 0.781                   (its command line)
    0:	learn: 1.09	test: 1.1	best: 1.1 (0)	total: 85.6ms	remaining: 8.47s   (CatBoost)

A value is that of one measure on one set. The measure that is most like a loss is `loss` on the set that is
trained on and `val/loss` on the last of the others, the one that all three stop early by; every other
measure is `train/<measure>` or `val/<measure>`. CatBoost does not say what it measures: where its best value
is the highest so far, it is no loss. LightGBM prints its best round once more at the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import NUMBER
from stethoscope.logs._text.counting import STEP, assembled
from stethoscope.logs._text.grammar import Place, Span, StepLine, confidence
from stethoscope.logs._text.rows import NO_ROWS, Assembled, RowReading, Rows
from stethoscope.run import Aggregation
from stethoscope.run.names import canonical

FORMAT = "boosting rounds"

_BEFORE = r"(?:.{0,80}?[\s\]:])??"  # a clock, a host, a logger's name
_ROUND = re.compile(
    rf"^{_BEFORE}(?:\[(?P<bracketed>\d{{1,9}})\]\s+(?=\S+[-'])|(?P<plain>\d{{1,9}}):\s+(?=(?:learn|test\d*):)"
    r"|Iteration:\s?(?P<said>\d{1,9}),\s+)"
)
_SPREAD = rf"(?:\s?\+\s?{NUMBER})?"
_XGBOOST = re.compile(
    rf"(?P<name>[A-Za-z_][\w.]{{0,60}}-[A-Za-z][\w@.:-]{{0,60}}):(?P<value>{NUMBER}){_SPREAD}(?=\s|$)"
)
_LIGHTGBM = re.compile(
    rf"(?P<name>\w[\w .-]{{0,60}}'s [A-Za-z][\w@ .-]{{0,60}}): (?P<value>{NUMBER}){_SPREAD}(?=\s|$)"
)
_LIGHTGBM_CLI = re.compile(
    rf"(?P<name>[A-Za-z][\w.]{{0,60}} [A-Za-z][\w@.-]{{0,60}})\s:\s(?P<value>{NUMBER})(?=\s|$)"
)
_CATBOOST = re.compile(rf"(?P<name>learn|test\d*|best): (?P<value>{NUMBER})(?=\s|$)")
_SET = re.compile(r"(?P<set>[^-']+?)(?:'s |-)(?P<measure>.+)|(?P<said>\S+) (?P<of>\S+)")
_DIGIT = re.compile(r"\d")

_TRAINED = re.compile(r"d?(?:learn|train|training|trn|tr)(?:_?set|_?data|_?\d+)?", re.IGNORECASE)
# Measures that are minimised: by their likelihood first, then by their distance.
_LIKELIHOODS = ("loss", "loglik", "entropy", "deviance", "kldiv", "kullback")
_DISTANCES = frozenset(
    {
        *("rmse", "mse", "l2", "mae", "l1", "rmsle", "mape", "mphe", "huber", "fair"),
        *("quantile", "poisson", "gamma", "tweedie", "pinball"),
    }
)
_BEST, _UNNAMED = "best", ""
_AGAIN = re.compile(r"\bBest iteration is:\s*$")
_UNSAID = re.compile(r"valid(?:ation)?_\d+")  # what the libraries call a set that was given no name


def recognise(head: Head) -> float:
    """Lines of a round with the measures of its sets."""
    if head.binary or head.prose:
        return 0.0
    return confidence(min(3, sum(times for line, times in head.shapes if _step_line(line))))


def begin(head: Head) -> RowReading:
    """Every round."""
    reading = RowReading(head, FORMAT, _step_line, Aggregation.INSTANT, mark=_mark)
    reading.assemble = lambda rows: _assembled(rows, reading.marks.get(_BEST, []))
    return reading


def _mark(line: str) -> str | None:
    return _BEST if _AGAIN.search(line) else None


def _step_line(line: str) -> StepLine | None:
    found = _ROUND.match(line[:200])
    if found is None:
        return None
    values = list(_values(line, found))
    if not values:
        return None
    step = next(span for group in ("bracketed", "plain", "said") if (span := found.span(group)) != (-1, -1))
    return StepLine(((STEP, *step), *values), fixed=tuple(_digits_of_names(line, values, found.end())))


def _values(line: str, found: re.Match[str]) -> Iterator[Place]:
    grammars = (
        (_CATBOOST,) if found["plain"] else (_LIGHTGBM_CLI,) if found["said"] else (_LIGHTGBM, _XGBOOST)
    )
    for grammar in grammars:
        for one in grammar.finditer(line, found.end()):
            yield (one["name"], *one.span("value"))


def _digits_of_names(line: str, values: list[Place], start: int) -> Iterator[Span]:
    """The digits between the values that belong to names: tweedie-nloglik@1.5."""
    for name, begins, _ in values:
        at = line.rfind(name, start, begins)
        for digit in _DIGIT.finditer(line, max(at, start), begins):
            yield digit.span()


# --- names --------------------------------------------------------------------------------------------


def _assembled(rows: Mapping[str, Rows], repeats: Sequence[int]) -> Assembled:
    """The measures over the rounds; `repeats` are the places above which a round is told again."""
    again = np.array(repeats, dtype=np.int64) + 1
    signals = {
        name: held.select(~np.isin(held.at, again)) if len(again) else held
        for name, held in rows.items()
        if name != _BEST
    }
    found = assembled(signals, {STEP: "the round"})
    told = [name for name in signals if name != STEP]
    judged = signals[told[-1]] if told else NO_ROWS
    names = _names(told, is_loss=not _rises(judged, rows.get(_BEST)))
    notes = _notes(told)
    return Assembled(found.points, found.counted, found.total, (*found.notes, *notes), names)


def _rises(judged: Rows, best: Rows | None) -> bool:
    """Whether the best value is the highest so far and not the lowest; without it, the last is the best."""
    values = judged.values[np.isfinite(judged.values)]
    if len(values) < 2:
        return False
    last = values[-1] if best is None else best.values[-1]
    return bool(abs(values.max() - last) < abs(last - values.min()))


def _notes(told: list[str]) -> tuple[str, ...]:
    sets = dict.fromkeys(label for label, _ in map(_set_and_measure, told))
    if len(sets) < 2 or not all(map(_UNSAID.fullmatch, sets)):
        return ()
    last = list(sets)[-1]
    return (f"the sets have no names of their own: {last} is taken as the one that decides",)


def _names(told: list[str], is_loss: bool) -> dict[str, str]:
    """The names that series go by, for the names that the log has."""
    parsed = {name: _set_and_measure(name) for name in told}
    minimised = _minimised([measure for _, measure in parsed.values()], is_loss)
    held_out = [label for label, _ in parsed.values() if not _TRAINED.fullmatch(label)]
    names: dict[str, str] = {}
    for name, (label, measure) in parsed.items():
        trained = _TRAINED.fullmatch(label) is not None
        if measure == minimised:
            spoken = "loss" if trained else "val/loss"
        else:
            spoken = _of_role("train" if trained else "val", measure)
        if (not trained and label != held_out[-1]) or spoken in names.values():
            spoken = f"{spoken}/{label}"
        names[name] = spoken
    return names


def _set_and_measure(name: str) -> tuple[str, str]:
    found = _SET.fullmatch(name)
    if found is None:
        return name, _UNNAMED
    return (found["set"], found["measure"]) if found["set"] else (found["said"], found["of"])


def _minimised(measures: list[str], is_loss: bool) -> str | None:
    """The measure that stands for the loss; None where there is none."""
    likely = [one for one in measures if any(word in one.lower() for word in _LIKELIHOODS)]
    near = [one for one in measures if _DISTANCES.intersection(re.split(r"[^a-z0-9]+", one.lower()))]
    unnamed = [one for one in measures if one == _UNNAMED and is_loss]
    return next(iter([*likely, *near, *unnamed]), None)


def _of_role(role: str, measure: str) -> str:
    if measure == _UNNAMED:
        return f"{role}/score"
    spoken = canonical(f"{role} {measure}")
    return spoken if spoken.startswith(f"{role}/") else f"{role}/{measure}"
