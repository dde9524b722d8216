"""Mutated logs against every reader: no crash, no hang, no unbounded memory, the same result in any pieces.

    python benchmarks/fuzz_readers.py [--minutes 10] [--seed 0] [--jobs 2] [--kept FOLDER]
    python benchmarks/fuzz_readers.py --guided [--minutes 10]       by coverage; needs `pip install atheris`

Begins with the recorded logs of the test suite (and of ../shared/corpus where it is), cuts, flips, repeats,
splices and spells them worse, and reads every result with the reader of the log it came from, and some with
the one that is surest of them. An input that makes a reader say something it had not said before (another
series, note, event or refusal) joins those that are mutated further. A failure is
any exception but UnreadableFile, any warning, more than SLOW seconds, or more than MOST_MEMORY; its input is
kept in FOLDER. The count per format is printed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, ModuleType

import numpy as np

from stethoscope.errors import UnreadableFile
from stethoscope.logs import formats, head_of, read_with, splice, surest
from stethoscope.logs._reading.head import Head
from stethoscope.run import Log

ROOT = Path(__file__).resolve().parents[1]
SEEDS = (ROOT / "tests" / "fixtures" / "logs", ROOT.parent / "shared" / "corpus")
SMALL_SEEDS = (240, 240, 240, 600)  # bytes; most seeds are cut so short, since small inputs are tried faster
SMALL_INPUT = 1_500  # bytes of most inputs
LARGEST_SEED = 24_000
FEW_LARGE = 50  # one in so many inputs begins with a large seed
SLOW = 10.0  # seconds; none of these inputs takes more than a few hundredths
MOST_MEMORY = 3 << 30  # bytes of address space beyond what the process begins with
MOST_KEPT = 4_000  # inputs of a process that are mutated further
ASK_ALL = 24  # of one in so many inputs every reader is asked whose it is
PIECES = 16  # one in so many inputs is also handed over in pieces
# What readers look for, so that chance finds its way in.
WORDS = [
    *(b"nan", b"NaN", b"-nan", b"inf", b"-Infinity", b"1e400", b"-1", b"0", b"1,000", b"9" * 25, b"1e-320"),
    *(b"\0", b"\0" * 64, b"\xff\xfe", b"\xef\xbb\xbf", b"\x1b[31m", b"\r", b"\r\n", b"\n", b"\t", b",", b";"),
    *(
        b'"',
        b"{",
        b"}",
        b"[",
        b"]",
        b":",
        b"=",
        b"|",
        b"%",
        b"step",
        b"loss",
        b"epoch",
        b"iter",
        b"lr",
        b"val",
    ),
    *(b"\xff\xff\xff\xff", b"\xff" * 8, b"\x7f\xff\xff\xff", b"\x80" * 9 + b"\x01", b"\x08\x01", b"\xc3\xa9"),
    *(b"Traceback (most recent call last):\n", b'  File "a", line 1\n', b"ValueError: x\n", b"Validation\n"),
]


# --- mutations --------------------------------------------------------------------------------------


def mutated(data: bytes, others: Callable[[], bytes], chance: random.Random) -> bytes:
    """An input with one to six changes."""
    for _ in range(chance.choice((1, 1, 2, 3, 6))):
        data = chance.choice(MUTATIONS)(data, others, chance)
    return data[: SMALL_INPUT if chance.randrange(FEW_LARGE) else 8 * LARGEST_SEED]


def _flip(data: bytes, others: Callable[[], bytes], chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice((1, 2, 8, 40))):
        if changed:
            changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def _cut(data: bytes, others: Callable[[], bytes], chance: random.Random) -> bytes:
    start, end = sorted(chance.randrange(len(data) + 1) for _ in range(2))
    return chance.choice((data[:end], data[start:], data[:start] + data[end:]))


def _insert(data: bytes, others: Callable[[], bytes], chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.choice(WORDS) * chance.choice((1, 1, 1, 3, 50)) + data[at:]


def _repeat(data: bytes, others: Callable[[], bytes], chance: random.Random) -> bytes:
    start, end = sorted(chance.randrange(len(data) + 1) for _ in range(2))
    return data[:end] + data[start:end] * chance.choice((1, 2, 30)) + data[end:]


def _splice(data: bytes, others: Callable[[], bytes], chance: random.Random) -> bytes:
    other = others()
    return data[: chance.randrange(len(data) + 1)] + other[chance.randrange(len(other) + 1) :]


def _respell(data: bytes, others: Callable[[], bytes], chance: random.Random) -> bytes:
    numbers = list(re.finditer(rb"\d+", data[:200_000]))
    if not numbers:
        return data
    found = chance.choice(numbers)
    spelled = chance.choice((*WORDS[:12], str(chance.randrange(10 ** chance.randint(1, 22))).encode()))
    return data[: found.start()] + spelled + data[found.end() :]


def _shuffle_lines(data: bytes, others: Callable[[], bytes], chance: random.Random) -> bytes:
    lines = data.split(b"\n")
    if chance.random() < 0.5:
        chance.shuffle(lines)
    else:
        lines = [line for line in lines if chance.random() < 0.8]
    return b"\n".join(lines)


def _lie_about_lengths(data: bytes, others: Callable[[], bytes], chance: random.Random) -> bytes:
    width = chance.choice((1, 2, 4, 8))
    at = chance.randrange(len(data) + 1)
    length = chance.choice((0, 1, 255, 65535, 2**31 - 1, 2**32 - 1, 2**63 - 1)) % 2 ** (8 * width)
    return data[:at] + length.to_bytes(width, "little") + data[at + width :]


MUTATIONS = (_flip, _cut, _insert, _repeat, _splice, _respell, _shuffle_lines, _lie_about_lengths)


READERS = {reader.FORMAT: reader for reader in formats()}


# --- one input --------------------------------------------------------------------------------------


class TooSlow(Exception):
    """An input took too long."""


def try_input(path: Path, data: bytes, usual: str, chance: random.Random) -> tuple[str, str]:
    """Read one input; gives the format it was read as and what was said about it."""
    path.write_bytes(data)
    head = head_of(path, path.name)
    reader = READERS.get(usual)
    sure = reader.recognise(head) if reader is not None else 0.0
    assert 0.0 <= sure <= 1.0, (usual, sure)
    if reader is None or chance.randrange(ASK_ALL) == 0:
        reader = surest(head) or chance.choice([*READERS.values()])
    said = _said(reader, head, joined=chance.randrange(4) == 0)
    if chance.randrange(PIECES) == 0 and hasattr(reader, "begin"):
        _in_pieces(reader, head, data, chance)
    return reader.FORMAT, said


def _said(reader: ModuleType, head: Head, joined: bool) -> str:
    """What a reader makes of a file, without its numbers; `joined` also joins its steps."""
    try:
        log: Log = read_with(reader, head)
    except UnreadableFile as refusal:
        return re.sub(r"[\d.,]+", "0", str(refusal))[:200]
    for series in log.series:
        assert len(series.steps) == len(series.values), (reader.FORMAT, series.name)
        assert series.steps.dtype == np.int64, (reader.FORMAT, series.name)
        assert series.values.dtype == np.float64, (reader.FORMAT, series.name)
    if joined:
        for series in splice([log]).series.values():
            assert (np.diff(series.steps) > 0).all(), (reader.FORMAT, series.name, "steps fall")
    names = sorted(re.sub(r"\d+", "0", series.name)[:40] for series in log.series)[:12]
    kinds = sorted({event.kind for event in log.events})
    notes = [re.sub(r"[\d.,]+", "0", note)[:80] for note in log.notes]
    return f"{names} {kinds} {notes} {len(log.documents)}"


def _in_pieces(reader: ModuleType, head: Head, data: bytes, chance: random.Random) -> None:
    """Hand a file over in pieces: nothing may fail, and nothing may be read twice."""
    if head.packing:
        return
    try:
        reading, rest, at = reader.begin(head), b"", 0
        while at < len(data):
            size = chance.randint(1, max(2, len(data) // 5))
            rest += data[at : at + size]
            at += size
            taken = reading.take(rest, at >= len(data))
            assert 0 <= taken <= len(rest), (reader.FORMAT, taken)
            rest = rest[taken:]
        pieces = reading.log().points
        whole = read_with(reader, head).points
    except UnreadableFile:
        return
    assert pieces == whole, f"{reader.FORMAT}: {pieces} points in pieces, {whole} at once"


# --- a process --------------------------------------------------------------------------------------


@dataclass
class Tally:
    """What one process tried."""

    tried: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    behaviours: set[str] = field(default_factory=set)


def fuzz(seconds: float, seed: int, kept: Path) -> Tally:
    """Try inputs for so long."""
    chance, tally = random.Random(seed), Tally()
    inputs = [(name, data, _usual(data)) for name, data in seeds()]
    signal.signal(signal.SIGALRM, _too_slow)
    warnings.simplefilter("error")
    _limit_memory()
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        while time.monotonic() < end:
            name, data, usual = chance.choice(inputs)
            data = _start(data, chance)
            data = mutated(data, lambda: chance.choice(inputs)[1], chance)
            signal.setitimer(signal.ITIMER_REAL, SLOW)
            try:
                form, said = try_input(Path(folder) / name, data, usual, chance)
            except (Exception, MemoryError) as problem:
                signal.setitimer(signal.ITIMER_REAL, 0)
                _keep(problem, name, data, kept, tally)
                continue
            signal.setitimer(signal.ITIMER_REAL, 0)
            tally.tried[form] += 1
            if f"{form} {said}" not in tally.behaviours:
                tally.behaviours.add(f"{form} {said}")
                if len(inputs) < MOST_KEPT and len(data) <= 2 * LARGEST_SEED:
                    inputs.append((name, data, form))
    return tally


def seeds() -> Iterator[tuple[str, bytes]]:
    """The names and contents of real logs."""
    for folder in SEEDS:
        for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
            if path.is_file() and path.suffix not in {".py", ".md", ".sh"}:
                yield path.name, path.read_bytes()[:LARGEST_SEED]


def _usual(data: bytes) -> str:
    """The format of a seed."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        reader = surest(head_of(Path(file.name), "seed"))
    return reader.FORMAT if reader is not None else ""


def _start(data: bytes, chance: random.Random) -> bytes:
    """A seed, mostly a small part of it: its beginning, and something from further on."""
    size = chance.choice(SMALL_SEEDS)
    if len(data) <= size or chance.randrange(FEW_LARGE) == 0:
        return data
    at = chance.randrange(len(data) - size // 2)
    at = data.rfind(b"\n", 0, at) + 1
    return data[: size // 2] + data[at : at + size // 2]


def _too_slow(_: int, __: FrameType | None) -> None:
    raise TooSlow(f"more than {SLOW:g} seconds")


def _limit_memory() -> None:
    with open("/proc/self/statm", encoding="ascii") as stream:
        used = int(stream.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + MOST_MEMORY, resource.RLIM_INFINITY))


def _keep(problem: BaseException, name: str, data: bytes, kept: Path, tally: Tally) -> None:
    where = "".join(traceback.format_exception(problem)[-3:])
    tally.failures.append(f"{type(problem).__name__}: {problem}\n{where}")
    kept.mkdir(parents=True, exist_ok=True)
    (kept / f"{len(list(kept.iterdir())):04d}-{name}").write_bytes(data)
    with (kept / "failures.txt").open("a", encoding="utf-8") as stream:
        stream.write(tally.failures[-1] + "\n")


# --- all processes ----------------------------------------------------------------------------------


def main() -> int:
    """Run the processes and print what they tried."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--kept", type=Path, default=Path("fuzz-failures"))
    parser.add_argument("--guided", action="store_true")
    options = parser.parse_args()
    if options.guided:
        return guided(options.minutes * 60, options.seed)
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        jobs = [(options.minutes * 60, options.seed + job, options.kept) for job in range(options.jobs)]
        tallies = pool.starmap(fuzz, jobs)
    tried: Counter[str] = Counter()
    for tally in tallies:
        tried += tally.tried
    failures = [failure for tally in tallies for failure in tally.failures]
    for form, count in tried.most_common():
        print(f"{form:34}{count:12,}")
    behaviours = len(set().union(*(tally.behaviours for tally in tallies)))
    print(f"{'all':34}{sum(tried.values()):12,}   {behaviours:,} behaviours, {len(failures)} failures")
    for failure in failures[:20]:
        print(failure)
    return 1 if failures else 0


def guided(seconds: float, seed: int) -> int:
    """The same inputs, chosen by which lines of the readers they reach (libFuzzer through atheris)."""
    try:
        import atheris
    except ImportError:
        print("guided fuzzing needs atheris: pip install atheris", file=sys.stderr)
        return 2
    for name, module in [*sys.modules.items()]:
        if name.startswith("stethoscope.logs"):
            _instrument(atheris, name, module)
    chance = random.Random(seed)
    inputs = [(name, _start(data, chance), _usual(data)) for name, data in seeds()]
    folder = Path(tempfile.mkdtemp())
    corpus = folder / "corpus"
    corpus.mkdir()
    for at, (_, data, _) in enumerate(inputs):  # the first two bytes say which log an input was made from
        (corpus / f"{at:04d}").write_bytes(at.to_bytes(2, "big") + data)

    def one_input(data: bytes) -> None:
        name, _, usual = inputs[int.from_bytes(data[:2], "big") % len(inputs)]
        try_input(folder / name, data[2:], usual, chance)

    def mutator(data: bytes, most: int, number: int) -> bytes:
        own = random.Random(number)
        changed = mutated(data[2:], lambda: own.choice(inputs)[1], own)
        return (data[:2] + changed)[:most]

    limits = ["-rss_limit_mb=6000", f"-max_len={4 * SMALL_INPUT}", "-timeout=20"]
    arguments = [sys.argv[0], f"-max_total_time={seconds:.0f}", f"-seed={seed + 1}", *limits, str(corpus)]
    atheris.Setup(arguments, one_input, custom_mutator=mutator)
    atheris.Fuzz()
    return 0


def _instrument(atheris: ModuleType, name: str, module: ModuleType) -> None:
    """Let atheris see which branches of a module's functions are taken."""
    for attribute, value in [*vars(module).items()]:
        if getattr(value, "__module__", "") == name and hasattr(value, "__code__"):
            setattr(module, attribute, atheris.instrument_func(value))


if __name__ == "__main__":
    sys.exit(main())
