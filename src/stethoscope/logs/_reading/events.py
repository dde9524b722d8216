"""Lines that say what happened to a run: it ran out of memory, was killed, resumed, saved, finished.

A line is looked at only when it holds one of a kind's words, and counts only when the kind's pattern
agrees; source code that a log quotes is passed over. Of a traceback, the last line is the event.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from stethoscope.logs._reading.scaler_messages import ScalerMessages
from stethoscope.run import Event, EventKind

LONGEST_MESSAGE = 300  # characters
FURTHEST_LOOK = 2_000  # characters of a line that are searched
MOST_OF_A_KIND = 10_000  # a log that prints an overflow every step has said enough


@dataclass(frozen=True, slots=True)
class _Sign:
    kind: EventKind
    words: tuple[str, ...]  # lower case; a line without any of them is not searched
    pattern: re.Pattern[str]


def _sign(kind: EventKind, words: str, *patterns: str) -> _Sign:
    return _Sign(kind, tuple(words.split("|")), re.compile("|".join(patterns)))


# In this order: a line that fits two kinds is the first. "Out of memory: Killed process" is memory.
_SIGNS = (
    # Before the others: it goes on with what Guard saw, such as a loss that is NaN.
    _sign(EventKind.STOPPED_BY_GUARD, "guard stopped", r"\bGuard stopped the training at step \d"),
    _sign(
        EventKind.OUT_OF_MEMORY,
        "memory|bad_alloc|oom-kill|oom_kill|alloc_failed|resource_exhausted|oomkilled|memlimit|exceeded",
        r"\b(?:CUDA|HIP|MPS backend|XPU|NPU)\b.{0,40}out of memory",
        r"\bOutOfMemoryError\b",
        r"CUBLAS_STATUS_ALLOC_FAILED",
        r"DefaultCPUAllocator: (?:not enough memory|can't allocate memory)",
        r"Out of memory: Kill",
        r"\btasks? [\d,-]+: Out Of Memory\b",
        r"\bOOMKilled\b",
        r"\bTERM_MEMLIMIT\b",
        r"job killed: (?:mem|vmem|pmem)\w* .{0,40}exceeded limit",
        r"[Ee]xceeded (?:job|step|its) memory limit",
        r"killed by the (?:cgroup )?out-of-memory handler",
        r"\boom[-_]kill",
        r"\bstd::bad_alloc\b",
        r"RESOURCE_EXHAUSTED",
        r"Cannot allocate memory",
        r"^\s*MemoryError\b",
        r"ran out of memory",
    ),
    _sign(
        EventKind.DATA_WORKER_DIED,
        "dataloader worker|bus error|shared memory",
        r"DataLoader worker \(pid.{0,60}(?:exited unexpectedly|killed by signal)",
        r"Unexpected bus error encountered in worker",
        r"^\s*Bus error\b",
        r"insufficient shared memory",
    ),
    _sign(
        EventKind.COLLECTIVE_TIMEOUT,
        "timeout|timed out|closed by peer|reset by peer|watchdog",
        r"[Ww]atchdog caught collective operation timeout",
        r"(?:ProcessGroup(?:NCCL|Gloo)|c10d|[Gg]loo|NCCL|ranks?)\b.{0,200}\b[Tt]ime(?:d out|out after)",
        r"[Tt]imed out waiting .{0,60}(?:work|ranks?|store|recv|send|collective)",
        r"\[?[.\w/]*(?:gloo|nccl)\b.{0,120}Connection (?:closed|reset) by peer",
    ),
    _sign(
        EventKind.DISK_FULL,
        "no space left|errno|quota exceeded|pytorchstreamwriter|inline_container|iostream error",
        r"No space left on device",
        r"\[Errno (?:28|122)\]",
        r"[Dd]isk quota exceeded",
        r"PytorchStreamWriter failed writing file",
        # What torch.save says where a file ends before what was written to it.
        r"inline_container\.cc:\d+\].{0,40}unexpected pos \d+ vs \d+",
        r"basic_ios::clear: iostream error",
    ),
    _sign(
        EventKind.DEVICE_ASSERT,
        "assertion|device-side assert",
        r"\.(?:cu|cuh|hip)\b.{0,300}Assertion .{1,200} failed",
        r"device-side assert triggered",
    ),
    _sign(
        EventKind.CRASHED,
        "segmentation fault|core dumped|sigsegv|sigabrt|illegal instruction|cuda error|xid",
        r"\bCUDA [Ee]rror: (?:unspecified launch failure|an illegal|unknown error|misaligned|uncorrectable)",
        r"\bNVRM: Xid\b",
        r"^\s*(?:Fatal Python error: )?(?:Segmentation fault|Illegal instruction|Aborted)\b",
        r"\(core dumped\)\s*$",
        r"\bSIG(?:SEGV|ABRT)\)? received\b",
        r"\bdied with <Signals\.SIG(?:SEGV|ABRT)",
    ),
    _sign(
        EventKind.STOPPED_BY_USER,
        "interrupt",
        r"^\s*KeyboardInterrupt\b",
        r"(?:[Uu]ser|[Kk]eyboard) interrupt(?:ed|ion)?\b",
        r"[Ii]nterrupted by (?:the )?user",
        r"[Dd]etected KeyboardInterrupt",
    ),
    _sign(
        EventKind.KILLED,
        "killed|sigkill|sigterm|signal|exit|cancelled|time limit|preempt|terminated|runlimit|interruption|"
        "timed out",
        r"^\s*Killed\s*$",
        r"line \d+:\s+\d+ (?:Killed|Terminated)\b",
        r"\b(?:received|by|with|got|Received|caught|Caught)\b.{0,40}\bSIG(?:KILL|TERM)\b",
        r"\bSIG(?:KILL|TERM)\)? (?:received|death signal)",
        r"\bgot signal: ?(?:9|15)\b",
        r"^\s*Terminated\s*$",
        r"\btasks? [\d,-]+: (?:Killed|Terminated)\b",
        r"\bTERM_(?:RUNLIMIT|PREEMPT|OWNER)\b",
        r"job killed: (?:walltime|cput) .{0,40}exceeded limit",
        r"\b(?:[Jj]ob|[Nn]ode|[Ii]nstance|VM|[Pp]od|[Tt]ask|[Ww]orker)\b.{0,60}\b(?:was|been|is being|got) "
        r"preempted\b",
        r"\b[Pp]reemption (?:notice|signal|warning) (?:received|for)\b",
        r"\b[Rr]eceived (?:a )?(?:[Ss]pot|preemption).{0,30}\b(?:interruption|notice|signal)\b",
        r"\b[Ss]pot (?:[Ii]nstance )?(?:interruption|termination) (?:notice|warning)",
        r"\bJob has timed out\b",
        r"\bdied with <Signals\.SIG(?:KILL|TERM)",
        r"[Ee]xit ?code\b\W{0,4}(?:-9|-15|137|143)\b",
        r"\bCANCELLED (?:AT|DUE TO)\b",
        r"\bDUE TO (?:TIME LIMIT|PREEMPTION|NODE FAIL)",
    ),
    _sign(
        EventKind.OVERFLOW,
        "overflow|loss scale",
        r"(?<![Nn]o )\b[Gg]rad(?:ient)? overflow",
        r"OVERFLOW!",
        r"[Oo]verflow detected(?:\. Skipping|, setting (?:loss )?scale)",
        r"loss scale overflow!",
        r"[Rr]educing (?:dynamic )?loss scale (?:from|to)",
    ),
    _sign(
        EventKind.NON_FINITE,
        "nan|inf |infinite|inf)|non-finite|nonfinite|not finite",
        r"NaN/Inf (?:found )?in (?:the )?(?:loss|grad)",
        r"[Ll]oss (?:is|was|became|=) ?(?:nan|NaN|inf|Inf|infinite|not finite|non-?finite)\b",
        r"(?:^|[^\w])(?<![Nn]o )(?:nan|NaN|Nan|NAN|inf|Inf) (?:loss|gradients?|values?|grad norm)?\s?"
        r"(?:detected|encountered|found)\b",
        r"\b[Nn]on-?finite (?:loss|grad)",
        r"returned nan values",
    ),
    # What PyTorch and its trainers find wrong by themselves; the rules in findings/warned read on.
    _sign(
        EventKind.FRAMEWORK_WARNING,
        "lr_scheduler.step|target size|newly initialized|missing_keys|missing keys|requires_grad=true"
        "|no optimizer|in eval mode",
        r"Detected call of .?lr_scheduler\.step\(\).? before .?optimizer\.step\(\)",
        r"Using a target size \(torch\.Size\(.{0,80} different to the input size",
        r"\bare newly initialized(?: because the shapes did not match)?\s?:",
        r"_IncompatibleKeys\(missing_keys=\[['\"]",
        r"\b[Mm]issing keys(?: in (?:the )?(?:source )?state[_ ]dict| when loading\b.{0,60})?"
        r"\s?[:=]\s?\[?['\"]?\w",
        r"None of the inputs have requires_grad=True",
        r"this fit will run with no optimizer",
        r"Found \d+ module\(s\) in eval mode at the start of training",
    ),
    _sign(
        EventKind.RESUMED,
        "resum|continuing training|loaded checkpoint",
        r"\b[Rr]esum(?:ing|ed) (?:training )?(?:from|at)\b",
        r"\b[Cc]ontinuing training from\b",
        r"\bsuccessfully loaded checkpoint from\b.*\bat iteration\b",
        r"\b[Ll]oaded checkpoint \S+ \(epoch \d+ @ \d+ updates\)",
    ),
    _sign(
        EventKind.FINISHED,
        "end of training|training|early stopping|earlystopping|save the latest|train_runtime|stopped: `max",
        r"\bEnd of training\b",
        r"^(?!.*\b[Ee]poch\b).*\b[Tt]raining (?:is |has )?(?:completed?|finished|done)\b",
        r"\b(?:Finished|Completed|Done) [Tt]raining\b",
        r"\bSave the latest model\b",
        r"\bTraining stopped by automation\b",
        r"\b[Ee]arly ?stopping(?: was)? triggered\b",
        r"['\"]train_runtime['\"]\s*:",
        r"stopped: `max_(?:epochs|steps|time)",
        r"\bTotal training time\s*:",
    ),
    _sign(
        EventKind.CHECKPOINT,
        "saving|saved|checkpoint|snapshotting|best model",
        r"\b[Ss]uccessfully saved checkpoint\b",
        r"\.(?:pth|pt|ckpt|keras|h5)\b\S* saved\b",
        r"(?<!finished )\bsaving model to \S",
        r"\bSaving models and training states",
        r"\b[Ss]aving (?:model )?checkpoint\b",
        r"\b[Ss]aved (?:model )?checkpoint\b",
        r"\b[Cc]heckpoint (?:was )?saved\b",
        r"\bSaved model parameters to\b",
        r"\bSnapshotting to binary proto file",
        r"\bSaving model and optimizer state at iteration",
        r"\bSaved an end-of-epoch checkpoint",
        r"^\s*Saving weights to \S",
        r"^\s*saving model [\d.]+\.\.\.",
        r"^\s*> (?:CHECKPOINT|BEST MODEL) : ",
        r"\bThe model with the best validation .{1,60} was saved at iter",
    ),
    _sign(
        EventKind.STARTED,
        "start",
        r"\bStart training from epoch\b",
        r"\bStarting training loop at step\b",
        r"\bStarting training from iteration\b",
    ),
)

# Source and settings that a log quotes: statements, comments, format strings.
_CODE = re.compile(
    r"^\s*(?:#|//|\"\"\"|'''|raise\b|print\w*\(|if\b|elif\b|else:|except\b|assert\b|def\b|class\b|import\b|"
    r"from \S+ import|return\b|log\w*\.\w+\(|warnings\.|self\.|parser\.add_argument)|"
    r"\bf[\"']|\\n[\"']|%[sd]\b|\{\w+(?::[^}]*)?\}"
)
_PREFIX = re.compile(
    r"^\[?\d{4}-\d\d-\d\d[ T][\d:,.]+\]?\s*(?:-?\s*[\w.]+ -\s*)?"
    r"(?:\[?(?:INFO|DEBUG|WARNING|ERROR|CRITICAL)\]?\s*[:-]?\s*)?"
)
_WORDS = tuple({word for sign in _SIGNS for word in sign.words})
_TRACEBACK_WORD = "traceback ("
_TRACEBACK = "Traceback (most recent call last):"
_EXCEPTION = re.compile(r"^[A-Za-z_][\w.]*(?:\s?:|$)")
_FRAME = re.compile(r"^\s+File \"(?P<file>[^\"]*)\"(?:, line (?P<line>\d+))?(?:, in (?P<name>\S+))?")
_IGNORED = "Exception ignored in"  # Python at its end: what an object's __del__ raised stops nothing
MOST_FRAMES = 12  # the outermost and the innermost places are kept
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?")
_TITLE = re.compile(r"(?:iter|step)\w*[:=]?\s*([\d,]{1,15})")


@dataclass(slots=True)
class Scanner:
    """Collects events from the lines it is shown, in order."""

    file: str
    found: list[Event] = field(default_factory=list)
    counts: dict[EventKind, int] = field(default_factory=dict)
    traceback: _Traceback | None = None
    scales: ScalerMessages = field(default_factory=ScalerMessages)
    ignored_at: int | None = None  # the line that says that the traceback behind it was ignored

    def see(self, number: int, line: str, step: int | None) -> None:
        """Look at one line that is no step line; `step` is that of the last step line before it."""
        if self.traceback is not None and self._in_traceback(number, line, step):
            return
        at = line.find(_TRACEBACK)
        if at >= 0 and not line[at + len(_TRACEBACK) :].strip() and not _CODE.search(line[:at]):
            self.traceback = _Traceback(line[:at], ignored=self._just_ignored(number))
            return
        if _IGNORED in line:
            self.ignored_at = number
        kind = kind_of(line)
        if kind is not None:
            self._note(kind, line, number, step)
        if "scale" in line and not _CODE.search(line[:FURTHEST_LOOK]):
            self.scales.see(number, line[:FURTHEST_LOOK], step)

    def events(self) -> tuple[Event, ...]:
        """What was found."""
        return tuple(self.found)

    def _in_traceback(self, number: int, line: str, step: int | None) -> bool:
        block = self.traceback
        assert block is not None
        if not block.frames and not block.has(line) and _FRAME.match(line):
            block.prefix = ""  # only the heading stood behind something, such as a bar
        if not block.has(line):
            return False  # another rank's line in between
        text = block.without_prefix(line)
        if frame := _FRAME.match(text):
            block.frames = _kept((*block.frames, f"{frame['file']}:{frame['line']} in {frame['name']}"))
            return True
        if not block.frames:
            self.traceback = None  # words about a traceback, not one
            return False
        if not text.strip() or text[0].isspace():
            return True
        self.traceback = None
        if not _EXCEPTION.match(text):
            return False
        kind = kind_of(text) or EventKind.TRACEBACK
        if not text.startswith("SystemExit") and not block.ignored:
            self._note(kind, text, number, step, block.frames)
        return True

    def _just_ignored(self, number: int) -> bool:
        return self.ignored_at is not None and number - self.ignored_at <= 1

    def _note(
        self, kind: EventKind, line: str, number: int, step: int | None, frames: tuple[str, ...] = ()
    ) -> None:
        message = _PREFIX.sub("", line).lstrip(" -").rstrip()[:LONGEST_MESSAGE]
        said = _TITLE.search(message) if kind in {EventKind.RESUMED, EventKind.STARTED} else None
        at = int(said[1].replace(",", "") or 0) if said else step
        if kind is EventKind.STARTED and at:
            kind = EventKind.RESUMED  # BasicSR starts "from iter: 5000" after a resume
        last = self.found[-1] if self.found else None
        if (
            last
            and (last.kind, last.step) == (kind, at)
            and (kind is EventKind.RESUMED or last.message == message)
        ):
            return  # several ranks, or two ways of saying one thing
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if self.counts[kind] <= MOST_OF_A_KIND:
            self.found.append(Event(kind, message, self.file, number, at, frames))


@dataclass(slots=True)
class _Traceback:
    prefix: str
    frames: tuple[str, ...] = ()
    ignored: bool = False

    def has(self, line: str) -> bool:
        """Whether a line is of this traceback: it begins as the heading did, but for the time of day."""
        return line.startswith(self.prefix) or self._timed(line) is not None

    def without_prefix(self, line: str) -> str:
        """The line behind what all lines of this traceback begin with."""
        if line.startswith(self.prefix):
            return line[len(self.prefix) :]
        return line[self._timed(line) or 0 :]

    def _timed(self, line: str) -> int | None:
        """Where the text begins, in a log that puts the time before every line."""
        own, other = _MOMENT.search(self.prefix), _MOMENT.search(line[:FURTHEST_LOOK])
        if own is None or other is None or line[: other.start()] != self.prefix[: own.start()]:
            return None
        behind = self.prefix[own.end() :]
        return other.end() + len(behind) if line[other.end() :].startswith(behind) else None


def _kept(frames: tuple[str, ...]) -> tuple[str, ...]:
    half = MOST_FRAMES // 2
    return frames if len(frames) <= MOST_FRAMES else (*frames[:half], *frames[-half:])


def may_announce(line: str) -> bool:
    """Whether a line holds any of the words that an announcement has; the same for all lines of one shape."""
    lowered = line[:FURTHEST_LOOK].lower()
    return any(word in lowered for word in (_TRACEBACK_WORD, _IGNORED.lower(), *_WORDS))


def kind_of(line: str) -> EventKind | None:
    """What a line announces; None for nothing."""
    line = line[:FURTHEST_LOOK]
    lowered = line.lower()
    for sign in _SIGNS:
        if any(word in lowered for word in sign.words) and _means(sign, line):
            if "NCCL INFO" in line or _CODE.search(line):
                return None
            return sign.kind
    return None


def _means(sign: _Sign, line: str) -> bool:
    """Whether a line holds the pattern and means it: "No NaN or Inf found" denies it."""
    return any(
        not _DENIED_BEFORE.search(line[: found.start() + _into(found)])
        and not (sign.kind in _COUNTED and _DENIED_AFTER.match(line, found.end()))
        for found in sign.pattern.finditer(line)
    )


def _into(found: re.Match[str]) -> int:
    """How many characters of a match are no part of what it says: a blank or a bracket before a word."""
    return 0 if found[0][:1].isalnum() else len(found[0]) - len(found[0].lstrip(" \t([{'\"/"))


# A word that denies or only supposes, and between it and what it denies nothing but words that belong to
# both: "no NaN or", "without any", "if a". A count of zero needs a verb before it: "rank 0" is no count.
_DENIED_BEFORE = re.compile(
    r"(?:\b(?:no|not|without|never|neither|zero|free of|if|whether|unless|in case(?: of)?|check(?:ing)? for)"
    r"|(?:^|\b(?:found|detected|with|has|had|have|contains?|saw|there (?:are|were)) )0)"
    r"(?:[\s,/]+(?:a|an|any|the|of|or|and|nor|more|single|such|nans?|infs?|infinite|infinity|non-?finite|values?"
    r"|loss(?:es)?|grad(?:ient)?s?|numbers?|steps?|further))*[\s,/]*$",
    re.IGNORECASE,
)
# What follows may say that there was none of it: "NaN gradients found: 0", and likewise False or no.
_COUNTED = frozenset({EventKind.NON_FINITE, EventKind.OVERFLOW})
_DENIED_AFTER = re.compile(
    r"[^.;!:=?]{0,40}[:=?]\s*(?:0+(?:\.0*)?|false|none|no)(?=\s*(?:$|[,;|)]))", re.IGNORECASE
)
