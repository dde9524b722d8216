"""What becomes of trainings in which something goes wrong, with Guard, without it, and with its peers.

    python benchmarks/guard_faults.py [--tasks gratings] [--faults "NaN batch"] [--seeds 5] [--arms guard]
                                      [--healthy 200] [--jobs 2] [--json results.jsonl]

Three small trainings on a CPU (guard_trials/tasks.py), 300 steps each, in whose middle one of twelve faults
begins (guard_trials/faults.py), watched by nobody, by Guard, or by a peer (guard_trials/arms.py, installed by
guard_requirements.txt). Then healthy trainings under many settings, each once with all of Guard on and once
without it: the weights must be the same to the last bit.

Prints Markdown tables; progress goes to stderr. With --json each result is kept as a line of that file, and
what is in it already is not computed again.

    regained   (final - sick) / (healthy - sick), from -1 to 1.5; sick is the same run with nobody watching.
               Only where the fault costs at least a twentieth of what a healthy run learns.
    found      runs in which a fitting word was said at or after the onset, and the steps until then
    named      runs in which that word says what the fault is
    finite     runs whose parameters and buffers are all finite in the end
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import statistics
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path

from guard_trials.arms import ARMS, OURS, Sighting
from guard_trials.faults import FAULTS, HEALTHY, Fault
from guard_trials.tasks import TASKS
from guard_trials.training import KINDS, STEPS, Case, Outcome, Setting, train

CONSEQUENCE = 0.05  # of what a healthy run learns; a fault that costs less leaves nothing to regain
WORST, BEST = -1.0, 1.5  # bounds of what is regained: beyond them the quotient is noise
GOAL_REGAINED = 0.85
ALL_ON = "guard, all on"
ABSENT = "not installed"
ACTIONS = ("rewound", "end")

Results = dict[str, Outcome]


def main() -> int:
    """Run what is asked for, and print the tables."""
    asked = _arguments()
    cases = list(_matrix(asked.tasks, asked.faults, asked.arms, asked.seeds))
    healthy = list(_healthy(asked.tasks, asked.healthy))
    results = _results([*cases, *healthy], asked.jobs, asked.json)
    print(_by_arm(asked, results))
    for arm in asked.arms:
        if arm in OURS:
            print(_by_fault(asked, arm, results))
    if healthy:
        print(_false_alarms(healthy, results))
    return 0


# --- which trainings


def _matrix(tasks: list[str], faults: list[str], arms: list[str], seeds: int) -> Iterator[Case]:
    """The reference runs and every fault in every arm, all arms of a run together."""
    names = [*faults, *sorted({f"healthy {FAULTS[name].precision}" for name in faults})]
    for seed in range(seeds):
        for task in tasks:
            for name in names:
                reference = name.startswith("healthy")
                for arm in ["none"] if reference else dict.fromkeys(["none", *arms]):
                    yield _case(task, name, arm, seed)


def _case(task: str, fault: str, arm: str, seed: int) -> Case:
    precision = FAULTS[fault].precision if fault in FAULTS else fault.removeprefix("healthy ")
    return Case(task, fault, arm, seed, Setting(kind=seed % len(KINDS), precision=precision))


def _healthy(tasks: list[str], count: int) -> Iterator[Case]:
    """Pairs of healthy runs, with Guard and without, under settings drawn at random."""
    source = random.Random(5)
    for number in range(count):
        task = TASKS[tasks[number % len(tasks)]]
        setting = Setting(
            optimizer=source.choice(list(task.rates)),
            kind=source.randrange(len(KINDS)),
            # Half precision is slow on a CPU, so it is drawn less often.
            precision=source.choice(["fp32", "fp32", "fp32", "bf16", "fp16"]),
            schedule=source.choice(["cosine", "constant", "steps", "restarts"]),
            warmup=source.choice([0, 20, 60]),
            clip=source.choice([0.0, 1.0, 0.1]),
            batch_size=source.choice([4, 8, 16, 32]),
        )
        for arm in ("none", ALL_ON):
            yield Case(task.name, HEALTHY.name, arm, 100 + number, setting)


# --- running them


def _results(cases: Sequence[Case], jobs: int, path: Path | None) -> Results:
    results = _read(path)
    todo = [case for case in cases if case.key not in results and case.arm not in _absent()]
    began, context = time.time(), get_context("spawn")
    with ProcessPoolExecutor(jobs, context, _begin) as pool:
        running = [pool.submit(train, case) for case in todo]
        try:
            for done, future in enumerate(as_completed(running), 1):
                outcome = future.result()
                results[outcome.key] = outcome
                _write(path, outcome)
                _progress(done, len(todo), time.time() - began)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    return results


def _begin() -> None:
    warnings.simplefilter("ignore")
    os.environ["OMP_NUM_THREADS"] = "1"


def _absent() -> tuple[str, ...]:
    """The peers that cannot be imported here."""
    from importlib.util import find_spec

    needs = {
        "DebugUnderflowOverflow": "transformers",
        "SpikeDetection": "lightning",
        "TerminateOnNan": "ignite",
        "ZClip": "zclip",
        "trainscope": "trainscope",
    }
    return tuple(arm for arm, module in needs.items() if find_spec(module) is None)


def _progress(done: int, count: int, seconds: float) -> None:
    left = seconds / done * (count - done)
    end = "\n" if done == count else "\r"
    print(
        f"{done} of {count} trainings, about {left / 60:.0f} min left ", end=end, file=sys.stderr, flush=True
    )


def _read(path: Path | None) -> Results:
    if path is None or not path.exists():
        return {}
    found = [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]
    outcomes = [
        Outcome(**{**one, "sightings": tuple(Sighting(**said) for said in one["sightings"])}) for one in found
    ]
    return {outcome.key: outcome for outcome in outcomes}


def _write(path: Path | None, outcome: Outcome) -> None:
    if path is not None:
        with path.open("a") as file:
            file.write(json.dumps(asdict(outcome)) + "\n")


# --- judging them


@dataclass(frozen=True, slots=True)
class Cell:
    """One run beside its sick and its healthy twin."""

    fault: Fault
    outcome: Outcome
    sick: float
    healthy: float
    dead: float

    @property
    def regained(self) -> float | None:
        """How much of what the fault cost was regained; None where it cost nothing worth naming."""
        cost = self.healthy - self.sick
        if cost < CONSEQUENCE * (self.healthy - self.dead):
            return None
        return min(max((self.outcome.score - self.sick) / cost, WORST), BEST)

    @property
    def found_after(self) -> int | None:
        """Steps from the onset until something fitting was said."""
        steps = [said.step for said in self._fitting()]
        return min(steps) - self.outcome.onset if steps else None

    @property
    def is_named(self) -> bool:
        """Whether something that was said says what the fault is."""
        named = [said for said in self._fitting() if said.kind in self.fault.names]
        return any(said.which.startswith(self.fault.which) for said in named)

    def _fitting(self) -> list[Sighting]:
        since = [said for said in self.outcome.sightings if said.step >= self.outcome.onset]
        # Peers have no kinds: whatever they say once the fault has begun is taken for it.
        return [said for said in since if said.kind in self.fault.fits or said.kind in ("spike", "stopped")]


def _cells(asked: argparse.Namespace, arm: str, faults: Iterable[str], results: Results) -> list[Cell]:
    cells = []
    for name in faults:
        fault = FAULTS[name]
        for task in asked.tasks:
            for seed in range(asked.seeds):
                outcome = results.get(_case(task, name, arm, seed).key)
                sick = results.get(_case(task, name, "none", seed).key)
                well = results.get(_case(task, f"healthy {fault.precision}", "none", seed).key)
                if outcome is not None and sick is not None and well is not None:
                    cells.append(Cell(fault, outcome, sick.score, well.score, TASKS[task].dead))
    return cells


# --- tables


def _by_arm(asked: argparse.Namespace, results: Results) -> str:
    """All arms side by side, over the curable faults and over the others."""
    curable = [name for name in asked.faults if FAULTS[name].curable]
    others = [name for name in asked.faults if not FAULTS[name].curable]
    rows = [
        [
            "who watches",
            "finite",
            "regained, curable",
            "worst quarter",
            "found, curable",
            "found, others",
        ]
    ]
    for arm in asked.arms:
        if arm in _absent():
            rows.append([arm, ABSENT, "", "", "", ""])
            continue
        cells, rest = _cells(asked, arm, curable, results), _cells(asked, arm, others, results)
        rows.append(
            [arm, _finite([*cells, *rest]), _regained(cells), _quarter(cells), _found(cells), _found(rest)]
        )
    return _table(rows)


def _by_fault(asked: argparse.Namespace, arm: str, results: Results) -> str:
    rows = [["fault", "finite", "regained", "costs something in", "found", "steps until", "named"]]
    for name in asked.faults:
        cells = _cells(asked, arm, [name], results)
        cost = sum(cell.regained is not None for cell in cells)
        regained = _regained(cells) if FAULTS[name].curable else "not curable"
        after = [cell.found_after for cell in cells if cell.found_after is not None]
        rows.append(
            [
                name,
                _finite(cells),
                regained,
                f"{cost} of {len(cells)}",
                _found(cells),
                f"{statistics.median(after):g} (at most {max(after)})" if after else "-",
                f"{sum(cell.is_named for cell in cells)} of {len(cells)}",
            ]
        )
    curable = [name for name in asked.faults if FAULTS[name].curable]
    every = _cells(asked, arm, curable, results)
    # One median over all runs hides a fault that is never cured behind many that always are.
    known = [_median(_cells(asked, arm, [name], results)) for name in curable]
    reached = sum(one is not None and one >= GOAL_REGAINED for one in known)
    said = f"All curable: regained {_regained(every)}, goal {GOAL_REGAINED}"
    said += f"; {reached} of {len(known)} faults reach it."
    return f"### {arm}\n\n{_table(rows)}\n{said}\n"


def _false_alarms(cases: Sequence[Case], results: Results) -> str:
    """Healthy runs: how many differ from their twins, and what was said of them."""
    pairs = [
        (results[bare.key], results[watched.key])
        for bare, watched in zip(cases[::2], cases[1::2], strict=True)
        if bare.key in results and watched.key in results
    ]
    changed = [watched.key for bare, watched in pairs if bare.digest != watched.digest]
    said = Counter(one.kind for _, watched in pairs for one in watched.sightings if one.severity != "note")
    runs = sum(any(one.severity != "note" for one in watched.sightings) for _, watched in pairs)
    told = ", ".join(f"{kind} {count}" for kind, count in said.most_common()) or "none"
    acted = sum(said[kind] for kind in ACTIONS)
    lines = [
        f"### {len(pairs)} healthy runs of {STEPS} steps, {ALL_ON}",
        "",
        f"- weights that differ from the run without Guard: {len(changed)}",
        f"- rewinds, stops: {acted}",
        f"- runs with a warning: {runs} ({told})",
        *(f"  - {key}" for key in changed),
    ]
    return "\n".join(lines) + "\n"


def _finite(cells: Sequence[Cell]) -> str:
    return f"{sum(cell.outcome.finite for cell in cells)} of {len(cells)}"


def _regained(cells: Sequence[Cell]) -> str:
    middle = _median(cells)
    return "-" if middle is None else f"{middle:.2f}"


def _median(cells: Sequence[Cell]) -> float | None:
    known = [cell.regained for cell in cells if cell.regained is not None]
    return statistics.median(known) if known else None


def _quarter(cells: Sequence[Cell]) -> str:
    known = sorted(cell.regained for cell in cells if cell.regained is not None)
    return f"{known[math.floor(0.25 * (len(known) - 1))]:.2f}" if known else "-"


def _found(cells: Sequence[Cell]) -> str:
    return f"{sum(cell.found_after is not None for cell in cells)} of {len(cells)}"


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _arguments() -> argparse.Namespace:
    said = __doc__ or ""
    parser = argparse.ArgumentParser(description=said, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--faults", nargs="+", choices=list(FAULTS), default=list(FAULTS))
    parser.add_argument("--arms", nargs="+", choices=list(ARMS), default=list(ARMS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--healthy", type=int, default=200, help="healthy runs, settings drawn at random")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="trainings at a time")
    parser.add_argument("--json", type=Path, help="a file of results, one a line; it is added to")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
