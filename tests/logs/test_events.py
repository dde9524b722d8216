"""What a line of a log announces, and what only looks like it."""

# Lines are as long as programs print them.

from __future__ import annotations

import pytest

from stethoscope.logs._reading.events import Scanner, kind_of
from stethoscope.run import Event, EventKind

SAID = {
    EventKind.OUT_OF_MEMORY: [
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 23.69 GiB total)",
        "RuntimeError: CUDA error: out of memory",
        "RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory: you tried",
        "[123.456] Out of memory: Killed process 4242 (python) total-vm:1kB",
        "slurmstepd: error: Detected 1 oom-kill event(s) in step 123.batch cgroup.",
        "terminate called after throwing an instance of 'std::bad_alloc'",
        "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 1 GiB",
        "RuntimeError: MPS backend out of memory (MPS allocated: 9 GB)",
        "srun: error: gpu07: task 0: Out Of Memory",
        "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.",
    ],
    EventKind.KILLED: [
        "Killed",
        "run.sh: line 12: 12345 Killed                  python train.py",
        "slurmstepd: error: *** JOB 99 ON node1 CANCELLED AT 2024-01-01T00:00:00 DUE TO TIME LIMIT ***",
        "torch.distributed.elastic: failed (exitcode: -9) local_rank: 0 (pid: 1) of binary: python",
        "subprocess.CalledProcessError: Command '['python']' died with <Signals.SIGKILL: 9>.",
        "Received SIGTERM, shutting down",
        "Process finished with exit code 137",
        "      traceback : Signal 9 (SIGKILL) received by PID 4242",
        "=>> PBS: job killed: walltime 86412 exceeded limit 86400",
        "TERM_RUNLIMIT: job killed after reaching LSF run time limit.",
        "Terminated",
        "The instance was preempted by the cloud",
    ],
    EventKind.COLLECTIVE_TIMEOUT: [
        "[rank3]:[E1] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE)",
        "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.0.0.1]:53",
        "[E ProcessGroupGloo.cpp:138] Rank 1 timed out after 1800000 milliseconds",
        "torch.distributed.DistBackendError: Timed out waiting 1800000ms for recv operation to complete",
    ],
    EventKind.DATA_WORKER_DIED: [
        "RuntimeError: DataLoader worker (pid(s) 1234, 1235) exited unexpectedly",
        "RuntimeError: DataLoader worker (pid 77) is killed by signal: Killed.",
        "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).",
    ],
    EventKind.DISK_FULL: [
        "OSError: [Errno 28] No space left on device",
        "OSError: [Errno 122] Disk quota exceeded",
        "RuntimeError: [enforce fail at inline_container.cc:588] . PytorchStreamWriter failed writing file data/1",
    ],
    EventKind.DEVICE_ASSERT: [
        "aten/src/ATen/native/cuda/Loss.cu:250: kernel: block: [0,0,0], thread: [1,0,0] Assertion `t < n_classes` failed.",
        "RuntimeError: CUDA error: device-side assert triggered",
    ],
    EventKind.CRASHED: ["Segmentation fault (core dumped)", "Fatal Python error: Segmentation fault"],
    EventKind.STOPPED_BY_USER: [
        "KeyboardInterrupt",
        "2025-12-18 10:23:52,180 INFO: User interrupted. Preparing to save",
    ],
    EventKind.STOPPED_BY_GUARD: [
        "stethoscope.errors.GuardStopped: Guard stopped the training at step 205. The loss is NaN at step 205.",
        "ERROR:stethoscope.guard:step 206: Guard stopped the training at step 205. 6 steps in a row were skipped.",
    ],
    EventKind.FINISHED: [
        "2024-01-01 00:00:00,000 INFO: End of training. Time consumed: 1 day, 0:00:00",
        "INFO: Save the latest model.",
        "Training completed. Do not forget to share your model on huggingface.co/models =)",
        "{'train_runtime': 123.4, 'train_samples_per_second': 1.0}",
        "`Trainer.fit` stopped: `max_epochs=10` reached.",
        "Automation IntelligentEarlyStopping: Early stopping triggered - val/psnr flat",
    ],
    EventKind.RESUMED: [
        "Resuming training from epoch: 6, iter: 4535.",
        "Resumed from checkpoint out/ckpt.pt",
    ],
    EventKind.CHECKPOINT: ["saving checkpoint to out", "Saving model checkpoint to out/checkpoint-500"],
    EventKind.NON_FINITE: [
        "Training failed: NaN/Inf found in loss.",
        "NaN/Inf in loss (count: 3), skipping update",
        "Loss is nan, stopping training",
        "WARNING: non-finite loss, ending training tensor(nan)",
        "RuntimeError: Function 'MulBackward0' returned nan values in its 0th output.",
    ],
    EventKind.OVERFLOW: [
        "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0",
        "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768",
        "NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: 32.0",
    ],
}

SILENT = [
    "node1:1:2 [0] NCCL INFO Bootstrap : Using eth0 timed out after",
    " iteration 1/ 10 | number of skipped iterations:   0 | number of nan iterations:   0 |",
    "best_valid_loss: inf",
    "amp_bf16: true # BF16 is more stable than FP16 for training, protecting against NaN",
    'raise RuntimeError("CUDA out of memory")',
    '    print(f"saving checkpoint to {out_dir}")',
    "# resuming training from a checkpoint",
    "IntelligentEarlyStopping enabled with config: {'enabled': True, 'patience': 10000}",
    "Epoch 3 training completed",
    "WARNING: AdaptiveGradientClipping: Exploding gradient detected (norm: 0.7, threshold: 0.5)",
    "No NaN found in the first batch",
    "timeout: 1800",
    "memory: 12 GB",
    "the walltime limit of this partition is 24 h",
    "preemption: enabled, requeue: true",
    "job 5512 was not preempted",
    "",
]


@pytest.mark.parametrize(("kind", "line"), [(kind, line) for kind, lines in SAID.items() for line in lines])
def test_a_line_announces_its_event(kind: EventKind, line: str) -> None:
    assert kind_of(line) is kind


@pytest.mark.parametrize("line", SILENT)
def test_a_false_friend_is_silent(line: str) -> None:
    assert kind_of(line) is None


def events_in(text: str, step: int | None = None) -> list[Event]:
    scanner = Scanner("a.log")
    for number, line in enumerate(text.splitlines(), 1):
        scanner.see(number, line, step)
    return list(scanner.events())


def test_of_a_traceback_the_last_line_is_the_event() -> None:
    text = """Traceback (most recent call last):
  File "train.py", line 3, in main
    loss.backward()
  File "torch/_tensor.py", line 525, in backward
    raise RuntimeError("CUDA out of memory")
ValueError: expected 3 channels
"""
    (event,) = events_in(text, 70)
    assert (event.kind, event.message, event.line, event.step) == (
        EventKind.TRACEBACK,
        "ValueError: expected 3 channels",
        6,
        70,
    )


def test_a_traceback_of_one_rank_is_followed_between_the_lines_of_another() -> None:
    text = """[rank1]: Traceback (most recent call last):
[rank0]: step 4
[rank1]:   File "train.py", line 3, in main
[rank1]: torch.distributed.DistBackendError: NCCL error timed out after 30 s
"""
    assert [(e.kind, e.line) for e in events_in(text)] == [(EventKind.COLLECTIVE_TIMEOUT, 4)]


def test_an_interrupt_inside_a_traceback_is_the_user() -> None:
    text = 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\nKeyboardInterrupt\n'
    assert [e.kind for e in events_in(text)] == [EventKind.STOPPED_BY_USER]


def test_words_about_a_traceback_are_none() -> None:
    assert events_in("print a Traceback (most recent call last):\nand go on\n") == []


def test_what_several_ranks_say_at_once_is_one_event() -> None:
    assert len(events_in("User interrupted. Saving...\n" * 9, 4500)) == 1


def test_a_resume_says_its_step() -> None:
    (event,) = events_in(
        "Resuming training from epoch: 6, iter: 4,535.\nStart training from epoch: 6, iter: 4,535"
    )
    assert (event.kind, event.step) == (EventKind.RESUMED, 4535)


@pytest.mark.parametrize(
    "line",
    [
        "No NaN or Inf found in gradients",
        "no NaNs, Infs or NaN values found",
        "found 0 NaN values detected",
        "NaN gradients found: 0",
        "Inf detected = False",
        "will stop if a NaN loss encountered",
        "without any Inf or NaN values found",
        "no gradient overflow detected",
        "Not resuming from checkpoint",
    ],
)
def test_what_is_denied_or_only_supposed_did_not_happen(line: str) -> None:
    assert kind_of(line) is None


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("NaN or Inf found in gradients: skipping step", EventKind.NON_FINITE),
        ("NaN gradients detected at step 12: no update", EventKind.NON_FINITE),
        ("No improvement, loss is nan", EventKind.NON_FINITE),
        ("step 0 loss is nan", EventKind.NON_FINITE),
        ("rank 0 CUDA out of memory", EventKind.OUT_OF_MEMORY),
    ],
)
def test_what_happened_beside_a_denial_counts(line: str, kind: EventKind) -> None:
    assert kind_of(line) is kind


def test_what_python_ignores_at_its_end_is_no_event() -> None:
    text = """Exception ignored in: <function Loader.__del__ at 0x7f2a>
Traceback (most recent call last):
  File "loader.py", line 1478, in __del__
    self.close()
AssertionError: can only test a child process
"""
    assert events_in(text) == []


def test_a_traceback_in_a_log_that_stamps_every_line_is_followed() -> None:
    text = """2025-03-01T10:09:00.120Z [rank1]: Traceback (most recent call last):
2025-03-01T10:09:00.1214Z [rank1]:   File "/app/run.py", line 31, in step
2025-03-01T10:09:00.121Z [rank0]: ValueError: of another rank
2025-03-01T10:09:01.002Z [rank1]: KeyError: 'mask'
"""
    (event,) = events_in(text)
    assert (event.message, event.line, event.frames) == ("KeyError: 'mask'", 4, ("/app/run.py:31 in step",))


def test_a_traceback_behind_a_bar_is_followed() -> None:
    text = """ 4%|4 | 120/3000 [02:11<52:31]Traceback (most recent call last):
  File "train.py", line 3, in main
ValueError: no
"""
    assert [event.message for event in events_in(text)] == ["ValueError: no"]


def test_of_many_frames_the_outermost_and_the_innermost_are_kept() -> None:
    frames = "\n".join(f'  File "a.py", line {number}, in f' for number in range(900))
    (event,) = events_in(f"Traceback (most recent call last):\n{frames}\nRecursionError: too deep\n")
    assert (len(event.frames), event.frames[0], event.frames[-1]) == (12, "a.py:0 in f", "a.py:899 in f")
