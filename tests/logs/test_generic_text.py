"""What is made of logs in no known format, and of what is no log at all."""

# Lines are as long as programs print them.

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from stethoscope.errors import UnreadableFile
from stethoscope.logs import formats, generic_text, head_of, read_log, read_with
from stethoscope.logs._text.pairs import parsed
from stethoscope.run import EventKind, Log, Series

Line = Callable[[int], str]
LOGS = Path(__file__).parent.parent / "fixtures" / "logs"
LOSS = [1 / (i + 1) for i in range(12)]


def log_of(tmp_path: Path, text: str) -> Log:
    """The log as the generic reader reads it, whoever else might."""
    (tmp_path / "x.log").write_text(text, newline="", encoding="utf-8")
    head = head_of(tmp_path / "x.log", "x.log")
    assert 0.3 < generic_text.recognise(head) <= 0.5
    return read_with(generic_text, head)


def repeated(line: Line, times: int = 12) -> str:
    return "".join(line(i) for i in range(times))


def series(log: Log, name: str) -> Series:
    found = [s for s in log.series if s.name == name]
    assert len(found) == 1, [(s.name, s.logged_as) for s in log.series]
    return found[0]


def steps(log: Log, name: str) -> list[int]:
    return [int(step) for step in series(log, name).steps]


HUNDREDS = [*range(0, 1200, 100)]
EPOCHS = [*range(1, 13)]
# A line, the axis it is read over, and the steps that it counts.
SPELLINGS: dict[str, tuple[Line, str, list[int]]] = {
    "bars": (
        lambda i: (
            f"Epoch {i + 1}/12 | train loss: {LOSS[i]:.3f} | val loss: {1.2 * LOSS[i]:.3f} | acc: {50 + i}.5%\n"
        ),
        "epoch",
        EPOCHS,
    ),
    "dots that lead to the number": (
        lambda i: (
            f"--- Epoch {i + 1} ---\n  Training loss ....... {LOSS[i]:.3f}\n  Accuracy ...... {50 + i}.5 %\n"
        ),
        "epoch",
        EPOCHS,
    ),
    "arrows": (lambda i: f"step -> {i * 100}  loss -> {LOSS[i]:.3f}  lr => 1e-4\n", "step", HUNDREDS),
    "names behind numbers": (
        lambda i: f"{i * 100:>6} steps | 1.00e-04 lr | {LOSS[i]:.3f} loss | 1.30 gnorm\n",
        "step",
        HUNDREDS,
    ),
    "ornaments": (lambda i: f"[Step {i * 100}] train_loss \U0001f4a5 {LOSS[i]:.3f}\n", "step", HUNDREDS),
    "a record in between": (
        lambda i: f"Epoch {i + 1}/12:\n    train loss {LOSS[i]:.3f}\n    best 0.500 (epoch 3)\n",
        "epoch",
        EPOCHS,
    ),
    "logging's own words": (lambda i: f"INFO:root:[{i * 100}] trn={LOSS[i]:.3f} lr=1e-4\n", "step", HUNDREDS),
    "letters": (lambda i: f"[12:00:{i:02d}] it={i * 100} L={LOSS[i]:.3f} lr=1e-4\n", "step", HUNDREDS),
    "colon": (lambda i: f"step {i * 100}: loss={LOSS[i]:.3f}\n", "step", HUNDREDS),
    "dashes": (
        lambda i: f"Iteration {i * 100} -- Loss {LOSS[i]:.3f} -- PSNR {20 + i}.1dB\n",
        "step",
        HUNDREDS,
    ),
    "commas": (lambda i: f"Step: {i * 100:,}, Loss: {LOSS[i]:.3f}, LR: 0.0001\n", "step", HUNDREDS),
    "equals": (lambda i: f"iter={i * 100}/5000 loss={LOSS[i]:.3f} (avg=0.9) t=0.3s\n", "step", HUNDREDS),
    "padded": (lambda i: f"  global_step    {i * 100:6d}    loss    {LOSS[i]:.3f}\n", "step", HUNDREDS),
    "glued": (lambda i: f"Epoch{i + 1:03d} loss={LOSS[i]:.3f}\n", "epoch", EPOCHS),
    "brackets": (lambda i: f"Iter({i * 100}) d_x: 1.5 loss: {LOSS[i]:.3f}\n", "step", HUNDREDS),
    "behind": (lambda i: f"loss {LOSS[i]:.3f} at step {i * 100}\n", "step", HUNDREDS),
    "prose": (lambda i: f"After {i * 100} steps the loss is {LOSS[i]:.3f}\n", "step", HUNDREDS),
    "tensor": (
        lambda i: (
            f"epoch: {i + 1} loss: tensor({LOSS[i]:.3f}, device='cuda:0', grad_fn=<NllLossBackward0>)\n"
        ),
        "epoch",
        EPOCHS,
    ),
    "thousands": (lambda i: f"step {i * 0.1:.1f}k loss {LOSS[i]:.3f}\n", "step", HUNDREDS),
    "exponent": (lambda i: f"step={i * 100:.2e} loss={LOSS[i]:.3f}\n", "step", HUNDREDS),
    "json-like": (lambda i: f'progress {{"step": {i * 100}, "loss": {LOSS[i]:.3f}}}\n', "step", HUNDREDS),
    "hydra": (
        lambda i: f"[2024-01-01 12:00:{i:02d},123][__main__][INFO] - step {i * 100} loss {LOSS[i]:.3f}\n",
        "step",
        HUNDREDS,
    ),
    "loguru": (
        lambda i: (
            f"2024-01-01 12:00:{i:02d}.123 | INFO     | __main__:train:42 - iter: {i * 100}, loss: {LOSS[i]:.3f}\n"
        ),
        "step",
        HUNDREDS,
    ),
    "glog": (
        lambda i: f"I0101 12:00:{i:02d}.123456  4242 trainer.cc:12] step {i * 100} loss {LOSS[i]:.3f}\n",
        "step",
        HUNDREDS,
    ),
    "syslog": (
        lambda i: f"Jan  1 12:00:{i:02d} INFO: step {i * 100} loss {LOSS[i]:.3f}\n",
        "step",
        HUNDREDS,
    ),
    "python": (
        lambda i: f"2024-01-01 12:00:{i:02d},123 - trainer - INFO - step {i * 100} - loss: {LOSS[i]:.3f}\n",
        "step",
        HUNDREDS,
    ),
    "colours": (
        lambda i: f"\x1b[32mstep\x1b[0m {i * 100} \x1b[1mloss\x1b[0m {LOSS[i]:.3f}\n",
        "step",
        HUNDREDS,
    ),
    "returns": (lambda i: f"\rstep {i * 100} loss {LOSS[i]:.3f}", "step", HUNDREDS),
    "first": (lambda i: f"[{i}]\ttrain-loss:{LOSS[i]:.3f}\teval-rmse:0.5{i}\n", "step", [*range(12)]),
    "pairs": (
        lambda i: f"[{i // 4}/25][{i % 4 * 50}/200]\tLoss: {LOSS[i]:.3f}\tD(x): 0.8\n",
        "step",
        [*range(0, 600, 50)],
    ),
    "asked": (lambda i: f"Loss at iteration {i * 100}: {LOSS[i]:.3f}\n", "step", HUNDREDS),
    "shared": (lambda i: f"Train loss {i * 100} {LOSS[i]:.3f} Grad Norm 1.5 3.40s/it\n", "step", HUNDREDS),
    "is": (lambda i: f"epoch: 1 step: {i * 100}, loss is {LOSS[i]:.3f}\n", "step", HUNDREDS),
    "Marian": (
        lambda i: (
            f"[2024-01-01 12:00:00] Ep. 1 : Up. {i * 100} : Sen. {i:,} : Cost {LOSS[i]:.3f} * 12,345 after 500\n"
        ),
        "step",
        HUNDREDS,
    ),
    "micro steps": (lambda i: f"iter {i * 400} step {i * 100} | loss {LOSS[i]:.3f}\n", "step", HUNDREDS),
    "short": (
        lambda i: f"(Ep {i + 1:3d}) tr-loss {LOSS[i]:.3f} / va-loss 0.4 / va-acc 0.5\n",
        "epoch",
        EPOCHS,
    ),
    "federated": (lambda i: f"Round {i * 100}, Train_Loss: {LOSS[i]:.3f}, Test_Acc: 0.1\n", "step", HUNDREDS),
    "word model": (
        lambda i: (
            f"| epoch   1 | {i * 100:5d}/ 2983 batches | lr 20.00 | ms/batch 12.5 | loss {LOSS[i]:.3f} | ppl 99.1\n"
        ),
        "step",
        HUNDREDS,
    ),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_log_nobody_described_is_read(tmp_path: Path, name: str) -> None:
    line, axis, counted = SPELLINGS[name]
    log = log_of(tmp_path, "some words before\n" + repeated(line) + "\nand some behind\n")
    loss = series(log, "loss")
    assert (loss.axis, steps(log, "loss")) == (axis, counted)
    assert loss.values.tolist() == pytest.approx(LOSS, abs=6e-4)
    assert log.notes[0].startswith("a format not known here; its lines were read as ")
    assert "sure: " in log.notes[0]


def test_any_known_format_is_surer(tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text(repeated(lambda i: f"iter {i}: loss {LOSS[i]:.4f}, time 12.34ms\n"))
    head = head_of(tmp_path / "x.log", "x.log")
    others = [module.recognise(head) for module in formats() if module is not generic_text]
    assert generic_text.recognise(head) < max(others)


def test_roles_are_told_by_the_words_around(tmp_path: Path) -> None:
    log = log_of(
        tmp_path,
        repeated(
            lambda i: (
                f"Epoch {i}: Train Loss: {LOSS[i]:.3f}, Acc: 0.5{i:02d} | Val Loss: 2.5, Acc: 0.4{i:02d}\n"
            )
        ),
    )
    assert series(log, "val/accuracy").values[0] == 0.4
    assert series(log, "train/accuracy").values[0] == 0.5
    assert series(log, "val/loss").values[0] == 2.5
    log = log_of(
        tmp_path,
        repeated(lambda i: f"step {i}: loss {LOSS[i]:.3f}\n")
        + repeated(lambda i: f"[VAL] step {i} loss 0.7{i} acc 0.9{i}\n"),
    )
    assert series(log, "val/loss").values[0] == 0.7
    assert series(log, "val/accuracy").values[0] == 0.9


def test_the_pytorch_example_counts_samples_over_epochs(tmp_path: Path) -> None:
    def epoch(e: int) -> str:
        lines = (f"Train Epoch: {e} [{i * 640}/60000 ({i}%)]\tLoss: {LOSS[i]:.6f}\n" for i in range(4))
        return "".join(lines) + f"\nTest set: Average loss: 0.0{e}, Accuracy: 98{e}0/10000 (9{e}%)\n\n"

    log = log_of(tmp_path, "".join(map(epoch, (1, 2, 3))))
    assert steps(log, "loss")[:6] == [0, 640, 1280, 1920, 60000, 60640]
    assert list(series(log, "val/loss")) == [(1920, 0.01), (61920, 0.02), (121920, 0.03)]
    assert series(log, "val/accuracy").values.tolist() == [91, 92, 93]


def test_the_tutorial_prints_epoch_and_batch_as_a_pair(tmp_path: Path) -> None:
    log = log_of(
        tmp_path, repeated(lambda i: f"[{i // 4 + 1}, {i % 4 * 2000 + 2000:5d}] loss: {LOSS[i]:.3f}\n")
    )
    assert steps(log, "loss")[3:6] == [8000, 10000, 12000]


def test_a_batch_that_begins_again_every_epoch_is_counted_on(tmp_path: Path) -> None:
    log = log_of(tmp_path, repeated(lambda i: f"Ep {i // 4} Bt {i % 4 * 20} Ls {LOSS[i]:.3f}\n"))
    assert steps(log, "loss") == [*range(0, 240, 20)]
    assert "Bt begins again every epoch: counted on over epochs of 80" in log.notes


def test_a_restart_is_left_to_be_spliced(tmp_path: Path) -> None:
    log = log_of(tmp_path, repeated(lambda i: f"step {i % 8 * 10}: loss={LOSS[i]:.3f}\n"))
    assert steps(log, "loss") == [*range(0, 80, 10), 0, 10, 20, 30]


def test_the_imagenet_example_gives_values_and_not_means(tmp_path: Path) -> None:
    log = log_of(
        tmp_path,
        repeated(
            lambda i: (
                f"Epoch: [{i // 4}][{i % 4 * 10:3d}/40]\tTime  0.3 ( 0.4)\tLoss {LOSS[i]:.4e} (2.4e+00)\tAcc@1  12.5 (10.1)\tAcc@5 30.0 (28.0)\n"
            )
        ),
    )
    assert steps(log, "loss") == [*range(0, 120, 10)]
    assert series(log, "loss").values[1] == 0.5
    assert series(log, "train/accuracy").values[0] == 12.5
    assert series(log, "train/accuracy_top5").values[0] == 30.0


def test_the_batches_of_a_validation_count_no_steps(tmp_path: Path) -> None:
    def epoch(e: int) -> str:
        train = "".join(f"Epoch: [{e}][{i}/4]\tLoss {i}.5 (0.1)\tAcc@1 1.5 (2.5)\n" for i in range(4))
        return train + "".join(f"Test: [{i}/3]\tLoss {e}.2{i} (0.1)\tAcc@1 1.5 (2.5)\n" for i in range(3))

    log = log_of(tmp_path, "".join(map(epoch, range(3))))
    assert steps(log, "loss") == [*range(12)]
    assert list(series(log, "val/loss")) == [(3, 0.22), (7, 1.22), (11, 2.22)]


def test_a_share_of_the_steps_is_no_step(tmp_path: Path) -> None:
    log = log_of(
        tmp_path,
        repeated(lambda i: f"step {i:05d}/16704 (0.0{i}%) | loss: {LOSS[i]:.3f} | tok/sec: 24,514\n"),
    )
    assert steps(log, "loss") == [*range(12)]
    assert log.total_steps == 16704


def test_a_keras_bar_knows_the_epoch_above_it(tmp_path: Path) -> None:
    def epoch(e: int) -> str:
        bars = "".join(
            f"{i * 100}/500 [=====>.......] - ETA: 3s - loss: {i}.5 - accuracy: 0.1\r" for i in range(1, 5)
        )
        end = f"500/500 [==============] - 12s 15ms/step - loss: {e}.25 - accuracy: 0.5 - val_loss: {e}.75\n"
        return f"Epoch {e}/3\n{bars}{end}"

    log = log_of(tmp_path, "".join(map(epoch, (1, 2, 3))))
    assert steps(log, "loss")[:6] == [100, 200, 300, 400, 500, 600]
    assert list(series(log, "val/loss")) == [(500, 1.75), (1000, 2.75), (1500, 3.75)]


def test_a_summary_does_not_mix_with_the_lines_it_sums_up(tmp_path: Path) -> None:
    text = repeated(
        lambda i: (
            f"step {i * 10} loss {LOSS[i]:.3f}\n"
            + (f"Epoch {i // 4} done, loss {9 + i // 4}.5 val_loss 0.25\n" if i % 4 == 3 else "")
        )
    )
    log = log_of(tmp_path, text)
    assert len(series(log, "loss")) == 12
    assert list(series(log, "loss epoch")) == [(30, 9.5), (70, 10.5), (110, 11.5)]
    assert list(series(log, "val/loss")) == [(30, 0.25), (70, 0.25), (110, 0.25)]


def test_values_on_lines_of_their_own_stand_at_the_epoch_above(tmp_path: Path) -> None:
    log = log_of(tmp_path, repeated(lambda i: f"Epoch {i}\nTrain loss: {LOSS[i]:.3f}\nVal loss: 0.5\n"))
    assert (series(log, "loss").axis, steps(log, "loss")) == ("epoch", [*range(12)])


def test_a_step_printed_below_its_values_is_theirs(tmp_path: Path) -> None:
    log = log_of(tmp_path, repeated(lambda i: f"train_loss: {LOSS[i]:.3f}\nfinished step {i * 100}\n"))
    assert steps(log, "loss") == HUNDREDS


def test_rows_are_counted_where_nothing_counts(tmp_path: Path) -> None:
    log = log_of(tmp_path, repeated(lambda i: f"loss: {LOSS[i]:.3f}\n"))
    assert (series(log, "loss").axis, steps(log, "loss")) == ("row", [*range(12)])
    assert "no line counts steps: rows are counted instead" in log.notes


@pytest.mark.parametrize(
    "prefix", ["[rank{}] ", "[rank{}]: ", "GPU {}: ", "Rank {} | ", "[Rank {}] ", "(rank=0{}) "]
)
def test_one_of_several_ranks_is_read(tmp_path: Path, prefix: str) -> None:
    text = repeated(
        lambda i: "".join(f"{prefix.format(rank)}step {i} loss {LOSS[i] + rank:.3f}\n" for rank in (2, 0, 1))
    )
    log = log_of(tmp_path, text)
    assert series(log, "loss").values.tolist() == pytest.approx(LOSS, abs=6e-4)
    assert any(note.startswith("3 ranks print into this log: the lines of rank 0") for note in log.notes)


def test_nan_is_a_loss_and_a_time_of_nan_is_none(tmp_path: Path) -> None:
    log = log_of(
        tmp_path, repeated(lambda i: f"step {i} loss {'nan' if i > 6 else i} step_avg: nanms lr=1e-4\n")
    )
    assert [math.isnan(value) for value in series(log, "loss").values] == [i > 6 for i in range(12)]
    assert {s.name for s in log.series} == {"loss", "lr"}


def test_lists_are_numbered_and_units_are_no_part_of_names(tmp_path: Path) -> None:
    log = log_of(
        tmp_path,
        repeated(lambda i: f"step {i} loss {LOSS[i]:.3f} lr=[1e-4, 2e-5] acc: 91.2% PSNR 30.1dB mem 12GB\n"),
    )
    assert series(log, "lr").values[0] == 1e-4
    assert series(log, "lr/1").values[0] == 2e-5
    assert series(log, "train/accuracy").values[0] == 91.2
    assert series(log, "val/psnr").values[0] == 30.1


def test_what_says_nothing_is_left_out_with_a_note(tmp_path: Path) -> None:
    log = log_of(
        tmp_path,
        repeated(
            lambda i: f"step {i} loss {LOSS[i]:.3f} grad_norm 0.0000 stamp {1700000000 + i} pid 42{i}\n"
        ),
    )
    assert {s.name for s in log.series} == {"loss"}
    assert log.notes[-1] == "left out, because they are always 0 or only number things: grad_norm, pid, stamp"


def test_a_loss_of_nothing_but_zero_is_kept(tmp_path: Path) -> None:
    log = log_of(tmp_path, repeated(lambda i: f"step {i} loss 0.0000 lr 0.1\n"))
    assert not series(log, "loss").values.any()


def test_events_and_scales_stand_at_the_step_before_them(tmp_path: Path) -> None:
    text = repeated(
        lambda i: (
            f"step {i * 10} loss {LOSS[i]:.3f}\n"
            + (
                "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 8192.0\n"
                if i == 3
                else ""
            )
            + ("Saving checkpoint to out/step.pt\n" if i == 5 else "")
        )
    )
    log = log_of(tmp_path, text + "torch.cuda.OutOfMemoryError: CUDA out of memory.\n")
    assert [(event.kind, event.step) for event in log.events] == [
        (EventKind.OVERFLOW, 30),
        (EventKind.CHECKPOINT, 50),
        (EventKind.OUT_OF_MEMORY, 110),
    ]
    assert list(series(log, "loss_scale")) == [(30, 8192.0)]


def test_a_name_inside_a_path_is_no_value(tmp_path: Path) -> None:
    log = log_of(
        tmp_path,
        repeated(lambda i: f"step {i} loss {LOSS[i]:.3f}\nwrote out/epoch={i}-val_loss=0.{i}.ckpt\n"),
    )
    assert {s.name for s in log.series} == {"loss"}


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("Epoch 3/10 | train loss: 0.1 (0.2)", ["Epoch", "train loss"]),
        ("loss: 0.3 (avg: 0.4)", ["loss", "loss avg"]),
        ("lr: [1e-4, 1e-5]", ["lr", "lr/1"]),
        ("eta 1:02:03 mem 5GB v1.2.3 cuda:0 192.168.0.1", ["mem"]),
        ("Step at 50 with Perplexity: 12.5", ["Step", "Perplexity"]),
        ("valid PER: 33.52", ["valid PER"]),
        ("saved to runs/exp3/model_100.pth", []),
        ("2024-01-01 12:00:01,123 INFO [train.py:895] lr = 0.1", ["lr"]),
        ("100%|####| 10/10 [00:01<00:00, 9.1it/s]", [""]),
    ],
)
def test_a_number_is_called_by_what_stands_before_it(line: str, names: list[str]) -> None:
    assert [field.name for field in parsed(line).fields][: len(names) or None] == names


KNOWN = [
    *("nanogpt.log", "llmc_main.log", "llmc_console.log", "modded_nanogpt.txt", "nanochat.log", "neosr.log"),
    *("train_redux_20251129_142010.log", "printed/caffe.log", "printed/icefall.log", "printed/paddleseg.log"),
    *("printed/paddlegan.log", "printed/paddledet.log", "recorded/speechbrain/train_log.txt"),
]


@pytest.mark.parametrize("name", KNOWN)
def test_what_has_a_reader_of_its_own_is_read_alike_without_it(name: str) -> None:
    path = LOGS / name
    own, alike = read_log(path), read_with(generic_text, head_of(path, name))
    assert own.format != alike.format
    assert list(map(str, series(alike, "loss"))) == list(map(str, series(own, "loss")))


# --- what is no log ---------------------------------------------------------------------------------

NO_LOGS: dict[str, Line] = {
    "access log": lambda i: (
        f'127.0.0.{i} - - [10/Oct/2000:13:{i:02d}:36 -0700] "GET /a{i}.gif HTTP/1.0" 200 23{i:02d}\n'
    ),
    "uvicorn": lambda i: f'INFO:     127.0.0.1:5{i:03d} - "GET /step/{i} HTTP/1.1" 200 OK\n',
    "pip": lambda i: (
        f"Collecting pkg{i}==1.{i}.0\n  Downloading pkg{i}-1.{i}.0-py3-none-any.whl (1{i}.5 MB)\n"
    ),
    "apt": lambda i: (
        f"Get:{i} http://deb.debian.org/debian bookworm/main amd64 lib{i} amd64 1.{i}-2 [1{i}.4 kB]\nUnpacking lib{i} (1.{i}-2) ...\n"
    ),
    "pytest": lambda i: f"tests/test_{i}.py::test_loss PASSED   [ {i * 3}%]\n",
    "files": lambda i: f"-rw-r--r-- 1 root root {i * 1234} Jan {i + 1:2d} 12:{i:02d} loss{i}.txt\n",
    "settings": lambda i: (
        "lr: 0.1\nepochs: 10\nloss_weight: 1.0\nwarmup_steps: 100\ndropout: 0.1\n" if not i else ""
    ),
    "namespace": lambda i: "Namespace(lr=0.1, epochs=10, batch_size=32, loss='l1', step=1)\n",
    "stamps": lambda i: f"2024-01-01 12:00:{i:02d}\n",
    "kernel": lambda i: (
        f"[ {i * 1.234:.6f}] usb 1-{i}: new high-speed USB device number {i} using xhci_hcd\n"
    ),
    "syslog": lambda i: (
        f"Jan  1 12:00:{i:02d} host sshd[{1000 + i}]: Accepted publickey from 10.0.0.{i} port {2000 + i * 7}\n"
    ),
    "ping": lambda i: f"64 bytes from 1.1.1.1: icmp_seq={i} ttl=57 time=4.{i % 10} ms\n",
    "make": lambda i: f"[{i * 3:3d}%] Building CXX object src/CMakeFiles/a.dir/f{i}.cpp.o\n",
    "ninja": lambda i: f"[{i + 1}/300] Building CXX object src/f{i}.cpp.o\n",
    "top": lambda i: f"{1000 + i} root 20 0 1{i}000 2000 1000 S {i / 3:.1f} 0.{i} 0:0{i % 10}.12 python\n",
    "nvidia-smi": lambda i: (
        f"| {i % 8}   N/A  |  {30 + i}C    P0    5{i % 10}W / 300W |   {i * 100}MiB / 16160MiB |      {i}%      Default |\n"
    ),
    "compiler": lambda i: f"src/a{i}.c:{i * 10}:{i}: warning: unused variable 'x{i}' [-Wunused-variable]\n",
    "model": lambda i: f"  (layer{i}): Conv2d({i * 2}, 64, kernel_size=(3, 3), stride=1, padding=1)\n",
    "summary": lambda i: f"            Conv2d-{i}         [-1, 64, 112, 112]           {i * 9408}\n",
    "downloads": lambda i: f"Downloading shards: {i * 10}%|###| {i}/10 [00:0{i % 10}<00:01, 1.{i}s/it]\n",
    "git": lambda i: f"remote: Counting objects: {i}% ({i}/100)\r",
    "json settings": lambda i: (
        "{\n" + "".join(f'  "key{k}": {k}.5,\n' for k in range(30)) + "}\n" if not i else ""
    ),
    "benchmark": lambda i: f"BM_foo/{2**i}   {i * 12.5:.1f} ns   {i * 12.4:.1f} ns   {10000 - i}\n",
    "requests": lambda i: f"request {i} took 0.{i:02d} s status=200\n",
    "data": lambda i: f"{i},{i * 0.3:.2f},{i * 0.7:.2f},setosa\n",
    "jobs": lambda i: f"{100 + i}  train  gpu  user  8  COMPLETED  0:0\n",
    "nccl": lambda i: (
        f"node1:{1000 + i}:{2000 + i} [{i % 8}] NCCL INFO Channel {i:02d}/32 :    0   1   2   3\n"
    ),
    "ids": lambda i: f"id={i} port={i * 7} pid={i * 13} time={i * 0.1:.2f}\n",
    "shell history": lambda i: f"{i:5d}  python train.py --lr 0.{i} --loss l1 --epochs {i}\n",
    "diff": lambda i: f"-loss = {i * 0.1:.2f}\n+loss = {i * 0.2:.2f}\n",
    "changelog": lambda i: f"## 1.{i}.0\n- improved loss by 0.{i}\n",
    "words": lambda i: "the loss of step 3 and 4\n",
    "source": lambda i: f"    if step == {i}: print(f'step {i} loss {{loss}}')\n    loss = {i}.5\n",
    "DeepSpeed settings": lambda i: (
        f"[2023-01-01 12:00:00,{i:03d}] [INFO] [config.py:1012:print]   key_{i} .... {i}\n"
    ),
    "numbers": lambda i: f"{i} {i * 0.1:.3f} {i * 0.2:.3f}\n",
}


@pytest.mark.parametrize("name", NO_LOGS)
def test_what_is_no_log_is_not_taken_for_one(tmp_path: Path, name: str) -> None:
    (tmp_path / "x.log").write_text(repeated(NO_LOGS[name], 30), newline="")
    assert generic_text.recognise(head_of(tmp_path / "x.log", "x.log")) == 0.0


def test_prose_that_speaks_of_losses_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text(
        "In epoch 3 the loss was 0.5. After step 100 it fell to 0.4, and the accuracy rose to 91%.\n"
        "We trained for 10 epochs with a learning rate of 1e-4.\nAt step 2000, loss 0.3 looked fine.\n"
    )
    with pytest.raises(UnreadableFile, match="not a log format known here"):
        read_log(tmp_path / "x.txt")


def test_source_is_no_log(root: Path, tmp_path: Path) -> None:
    taken = []
    for room in ("detectors", "signals", "causes", "run", "program", "cli"):
        for path in (root / "src" / "stethoscope" / room).rglob("*.py"):
            (tmp_path / "x.log").write_bytes(path.read_bytes())
            if generic_text.recognise(head_of(tmp_path / "x.log", "x.log")):
                taken.append(path.name)
    assert not taken


# --- on which data a line measured ---------------------------------------------------------------------


def validated_every(step: Line, validation: Line) -> str:
    """A log of twelve steps, with a validation below every second."""
    return repeated(lambda i: step(i) + (validation(i) if i % 2 else ""))


def stepped(i: int) -> str:
    return f"step {i * 100} loss {1.2 * LOSS[i]:.4f} acc {0.1 + i / 20:.4f}\n"


@pytest.mark.parametrize(
    "line",
    [
        "val loss {loss:.4f} acc {acc:.4f}",
        "  -> valid loss {loss:.4f} acc {acc:.4f}",
        "Validation loss: {loss:.4f}, accuracy: {acc:.4f}",
        "TEST  loss {loss:.4f} | acc {acc:.4f} | lr 1e-4",
        "*** EVAL *** acc {acc:.4f} loss {loss:.4f}",
        "Test Error: \n Accuracy: {acc:.4f}, Avg loss: {loss:.4f} ",
        "--- Validation ---\n  loss: {loss:.4f}\n  acc: {acc:.4f}",
        "Evaluating on cifar10-test\n  loss: {loss:.4f}, accuracy: {acc:.4f}\n",
        "Average loss on the validation set: {loss:.4f}\nAccuracy of the network on the 10000 test images: {acc:.4f}",
        "Test set loss: {loss:.4f}\nAccuracy on test set: {acc:.4f}",
    ],
)
def test_a_role_governs_all_that_a_line_measures(tmp_path: Path, line: str) -> None:
    text = validated_every(stepped, lambda i: line.format(loss=2 * LOSS[i], acc=0.2 + i / 30) + "\n")
    log = log_of(tmp_path, text)
    assert steps(log, "loss") == HUNDREDS
    assert steps(log, "train/accuracy") == HUNDREDS
    assert steps(log, "val/loss") == HUNDREDS[1::2]
    assert steps(log, "val/accuracy") == HUNDREDS[1::2]
    assert series(log, "val/loss").values[0] == pytest.approx(2 * LOSS[1], abs=1e-4)
    assert series(log, "val/accuracy").values[-1] == pytest.approx(0.2 + 11 / 30, abs=1e-4)


def test_training_and_validation_below_one_epoch(tmp_path: Path) -> None:
    text = repeated(
        lambda i: (
            f"Epoch {i}/24\n----------\ntrain Loss: {LOSS[i]:.4f} Acc: 0.{10 + i}\n"
            f"val Loss: {1.1 * LOSS[i]:.4f} Acc: 0.{20 + i}\n\n"
        )
    )
    log = log_of(tmp_path, text)
    assert series(log, "train/accuracy").values[0] == 0.10
    assert series(log, "val/accuracy").values[0] == 0.20
    assert steps(log, "val/accuracy") == [*range(12)]


def test_a_loss_without_a_role_stays_training_s(tmp_path: Path) -> None:
    log = log_of(tmp_path, repeated(lambda i: f"step {i} val_acc: 0.{20 + i} loss: {LOSS[i]:.4f}\n"))
    assert steps(log, "loss") == [*range(12)]
    log = log_of(tmp_path, repeated(lambda i: f"step {i} val loss {2 * LOSS[i]:.4f} loss {LOSS[i]:.4f}\n"))
    assert steps(log, "loss") == [*range(12)]
    assert steps(log, "val/loss") == [*range(12)]


def test_a_heading_does_not_reach_the_next_step(tmp_path: Path) -> None:
    text = repeated(lambda i: f"step {i} loss {LOSS[i]:.4f} acc 0.{10 + i}\nRunning validation...\n")
    log = log_of(tmp_path, text)
    assert not any(s.name.startswith("val/") for s in log.series)
    assert len(series(log, "loss")) == 12


def test_training_s_psnr_is_not_validation_s(tmp_path: Path) -> None:
    log = log_of(
        tmp_path, repeated(lambda i: f"[TRAIN] Iter: {i * 100} Loss: {LOSS[i]:.4f}  PSNR: {20 + i}.5\n")
    )
    assert steps(log, "train/psnr") == HUNDREDS


# --- roles that do not say what was measured -----------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "Epoch: {epoch:03d}, Loss: {loss:.4f}, Train: 0.{train}10, Val: 0.{val}07, Test: 0.{val}83\n",
        "Run: 01, Epoch: {epoch:02d}, Loss: {loss:.4f}, Train: {train}.21%, Valid: {val}.18% Test: {val}.94%\n",
        "Epoch: {epoch} | loss: {loss:.4f} | train: 0.{train}54 | test: 0.{val}99\n",
        "Epoch {epoch} Loss {loss:.4f} Train 0.{train}54 Val 0.{val}20 Test 0.{val}99\n",
        "[{epoch}/12] loss={loss:.4f} val={val}.07\n",
    ],
)
def test_what_rises_beside_a_loss_is_none(tmp_path: Path, line: str) -> None:
    text = repeated(lambda i: line.format(epoch=i + 1, loss=2 * LOSS[i], train=30 + 5 * i, val=30 + 4 * i))
    log = log_of(tmp_path, text)
    assert len(series(log, "loss")) == 12
    assert not any(s.name.startswith("val/loss") for s in log.series)
    assert any(s.name.lower().startswith(("val", "test")) for s in log.series)


@pytest.mark.parametrize(
    "line",
    [
        "Epoch {epoch} | Train {loss:.4f} | Val {val:.4f} | 12.3s\n",
        "step {epoch} loss {loss:.4f} (val {val:.4f})\n",
        "epoch {epoch}, loss: train {loss:.4f} val {val:.4f}, acc: train 0.{acc} val 0.{acc}\n",
        "epoch {epoch} loss (train/val): {loss:.4f}/{val:.4f} acc (train/val): 0.{acc}/0.{acc}\n",
        "epoch {epoch} loss {loss:.4f}\nvalidation: {val:.4f}\n",
        "epoch {epoch} loss {loss:.4f}\n   \u21b3 val {val:.4f}\n",
    ],
)
def test_what_falls_as_the_loss_does_is_one(tmp_path: Path, line: str) -> None:
    text = repeated(lambda i: line.format(epoch=i + 1, loss=2 * LOSS[i], val=2.2 * LOSS[i], acc=30 + i))
    log = log_of(tmp_path, text)
    assert [round(v, 4) for v in series(log, "loss").values[:2]] == [2.0, 1.0]
    assert [round(v, 4) for v in series(log, "val/loss").values[:2]] == [2.2, 1.1]
    assert steps(log, "val/loss") == EPOCHS


# --- counters ------------------------------------------------------------------------------------------


def test_a_bracketed_counter_first(tmp_path: Path) -> None:
    text = validated_every(
        lambda i: f"[{i * 100}] train loss {LOSS[i]:.4f}, acc 0.{10 + i}\n",
        lambda i: f"[{i * 100}] test  loss {LOSS[i]:.4f}, acc 0.{20 + i}\n",
    )
    log = log_of(tmp_path, text)
    assert steps(log, "loss") == HUNDREDS
    assert steps(log, "val/loss") == HUNDREDS[1::2]
    assert series(log, "val/accuracy").values[0] == 0.21


def test_an_epoch_of_one_letter(tmp_path: Path) -> None:
    log = log_of(
        tmp_path,
        repeated(lambda i: f"E{i + 1:03d} | trn_l={LOSS[i]:.4f} trn_a={10 + i}.18% | tst_a={9 + i}.63%\n"),
    )
    assert steps(log, "loss") == EPOCHS
    assert steps(log, "val/accuracy") == EPOCHS
    assert series(log, "loss").axis == "epoch"


def test_a_comma_may_be_a_decimal_point(tmp_path: Path) -> None:
    line = "Epoch {}: loss = {}; val_loss = {}\n"
    text = repeated(lambda i: line.format(i + 1, *(f"{x * LOSS[i]:.4f}".replace(".", ",") for x in (2, 2.2))))
    log = log_of(tmp_path, text)
    assert series(log, "loss").values[:3].tolist() == [2.0, 1.0, 0.6667]
    assert series(log, "val/loss").values[1] == 1.1
    assert steps(log, "loss") == EPOCHS


def test_a_comma_may_part_thousands(tmp_path: Path) -> None:
    text = repeated(lambda i: f"step={i * 100} tokens={1 + i},000 gpus=0,1 loss={LOSS[i]:.4f} lr=0.001\n")
    log = log_of(tmp_path, text)
    assert series(log, "tokens").values[:2].tolist() == [1000, 2000]
    assert series(log, "loss").values[0] == 1.0


@pytest.mark.parametrize(
    "line", ["ep {epoch:.2f} loss {loss:.4f} gnorm 0.8\n", "epoch={epoch:.2f} loss={loss:.4f}\n"]
)
def test_epochs_in_fractions_count_rows(tmp_path: Path, line: str) -> None:
    log = log_of(tmp_path, repeated(lambda i: line.format(epoch=(i + 1) / 20, loss=LOSS[i])))
    assert len(series(log, "loss")) == 12
    assert series(log, "loss").axis == "row"
    assert series(log, "epoch").values[:2].tolist() == [0.05, 0.1]


@pytest.mark.parametrize(
    "printed",
    [
        "Namespace(lr=0.1, batch_size=32, epochs=5, optimizer='adamw', val_acc=0.9)",
        "2024-01-01 10:00:00,123 INFO Namespace(lr=0.1, batch_size=32, epochs=5, optimizer='adamw')",
        "lr: 0.1\nbatch_size: 32\nepochs: 5\noptimizer: adamw\nseed: 3\ndice: 0.5",
    ],
)
def test_settings_printed_before_the_lines_are_a_document(tmp_path: Path, printed: str) -> None:
    log = log_of(
        tmp_path, f"{printed}\n" + repeated(lambda i: f"it={i} L_rec {LOSS[i]:.3f} psnr {20 + i}.1\n")
    )
    assert [(one.syntax, one.first_line) for one in log.documents] == [("yaml", 1)]
    assert "lr: 0.1" in log.documents[0].text
    assert len(series(log, "loss")) == 12
    assert "val/accuracy" not in [one.name for one in log.series]


def test_a_block_of_measurements_is_no_settings(tmp_path: Path) -> None:
    lines = [
        f"step: {i}\nlr: 0.{i + 1}\nepoch: {i}\nacc: 0.{i + 10}\nmiou: 0.{i + 11}\nce: {LOSS[i]:.3f}\n---\n"
        for i in range(12)
    ]
    assert log_of(tmp_path, "".join(lines)).documents == ()


def test_a_total_beside_terms_is_the_loss(tmp_path: Path) -> None:
    log = log_of(
        tmp_path, repeated(lambda i: f"step {i * 10}: ce={LOSS[i]:.4f} kl=0.1000 total={LOSS[i] + 0.1:.4f}\n")
    )
    assert series(log, "loss").logged_as == "total"
    assert series(log, "loss").values.tolist() == [float(f"{loss + 0.1:.4f}") for loss in LOSS]
    assert series(log, "loss/ce").logged_as == "ce"


@pytest.mark.parametrize(
    "total", [lambda i: f"{i * 64}", lambda i: f"{0.5 * i:.1f}", lambda i: f"{0.02 + i % 2 / 100:.3f}"]
)
def test_a_total_of_something_else_is_no_loss(tmp_path: Path, total: Line) -> None:
    log = log_of(tmp_path, repeated(lambda i: f"step {i * 10}: ce={LOSS[i]:.4f} total={total(i)}\n"))
    assert series(log, "loss").logged_as == "ce"


def test_bits_per_dimension_are_a_loss(tmp_path: Path) -> None:
    log = log_of(tmp_path, repeated(lambda i: f"step={i * 10} bpd={LOSS[i]:.4f} (train)\n"))
    assert series(log, "loss").logged_as == "bpd"


def test_an_error_is_the_loss_where_there_is_no_other(tmp_path: Path) -> None:
    lines = repeated(lambda i: f"Step {i * 10}\tMSE {LOSS[i]:.4f}\tMAE {LOSS[i] / 2:.4f}\n")
    log = log_of(
        tmp_path,
        lines
        + "Validation\tMSE 0.3\tMAE 0.1\n"
        + lines.replace("Step ", "Step 1")
        + "Validation\tMSE 0.2\tMAE 0.1\n",
    )
    assert series(log, "loss").logged_as == "MSE"
    assert len(series(log, "train/mse")) == len(series(log, "loss")) == 24
    assert series(log, "val/mse").values.tolist() == [0.3, 0.2]
    with_loss = log_of(
        tmp_path, repeated(lambda i: f"Step {i * 10} loss {LOSS[i]:.4f} MSE {LOSS[i] / 2:.4f}\n")
    )
    assert series(with_loss, "loss").logged_as == "loss"


@pytest.mark.parametrize(
    "line",
    [
        lambda i: (
            f"Epoche {i + 1}/12: Trainingsverlust = {LOSS[i]:.4f}, Validierungsverlust = {LOSS[i] + 1:.4f}\n"
        ),
        lambda i: (
            f"\u7b2c{i + 1}\u8f6e \u8bad\u7ec3\u635f\u5931\uff1a{LOSS[i]:.4f} \u9a8c\u8bc1\u635f\u5931\uff1a{LOSS[i] + 1:.4f}\n"
        ),
        lambda i: (
            f"\u7b2c {i + 1} \u8f6e\uff0c\u8bad\u7ec3\u96c6\u635f\u5931: {LOSS[i]:.4f}\uff0c\u9a8c\u8bc1\u96c6\u635f\u5931: {LOSS[i] + 1:.4f}\n"
        ),
    ],
)
def test_german_and_chinese_lines(tmp_path: Path, line: Line) -> None:
    log = log_of(tmp_path, repeated(line))
    assert steps(log, "loss") == steps(log, "val/loss") == EPOCHS
    assert series(log, "loss").axis == "epoch"
    assert series(log, "loss").values.tolist() == [float(f"{loss:.4f}") for loss in LOSS]


def test_two_test_sets_under_headings_are_kept_apart(tmp_path: Path) -> None:
    lines = repeated(
        lambda i: (
            f"step {i * 10} loss {LOSS[i]:.4f}\nEvaluating on cifar10-test\n  accuracy: 0.{i + 10}\n"
            f"Evaluating on imagenet-v2\n  accuracy: 0.{i + 40}\n"
        )
    )
    log = log_of(tmp_path, lines)
    assert series(log, "val/accuracy").values.tolist() == [float(f"0.{i + 10}") for i in range(12)]
    assert series(log, "val/accuracy_imagenet_v2").values.tolist() == [
        float(f"0.{i + 40}") for i in range(12)
    ]


def test_a_test_below_a_validation_is_not_the_validation(tmp_path: Path) -> None:
    lines = repeated(
        lambda i: (
            f"step {i * 10} loss {LOSS[i]:.4f}\n--- Test ---\nacc: 0.{i + 40}\n"
            f"--- Validation ---\nacc: 0.{i + 10}\n"
        )
    )
    log = log_of(tmp_path, lines)
    assert series(log, "val/accuracy").values.tolist() == [float(f"0.{i + 10}") for i in range(12)]
    assert [len(one) for one in log.series if "test" in one.logged_as] == [12]


def test_one_validation_under_headings_of_other_words_is_one(tmp_path: Path) -> None:
    lines = repeated(lambda i: f"step {i * 10} loss {LOSS[i]:.4f}\nRunning validation...\n acc: 0.{i + 10}\n")
    log = log_of(tmp_path, lines + "step 120 loss 0.05\nFinal evaluation:\n acc: 0.5\n")
    assert len(series(log, "val/accuracy")) == 13


def falls_of(log: Log) -> int:
    found = steps(log, "loss")
    return sum(later < earlier for earlier, later in pairwise(found))


@pytest.mark.parametrize(
    "fold",
    [
        lambda k: (
            f"===== Fold {k + 1}/5 =====\n" + repeated(lambda i: f"Epoch {i + 1}/12 - loss: {LOSS[i]:.4f}\n")
        ),
        lambda k: (
            f"Fold: {k}\n" + repeated(lambda i: f"Epoch {i // 3} step {i % 3 + 1}/3 loss {LOSS[i]:.4f}\n")
        ),
        lambda k: f"Fold {k}\n" + repeated(lambda i: f"[{i + 1}/12] loss: {LOSS[i]:.4f}\n"),
        lambda k: repeated(lambda i: f"fold={k} epoch={i + 1} loss={LOSS[i]:.4f}\n"),
    ],
)
def test_each_fold_begins_again(tmp_path: Path, fold: Line) -> None:
    log = log_of(tmp_path, repeated(fold, 5))
    assert steps(log, "loss") == EPOCHS * 5
    assert falls_of(log) == 4
    assert any("5 folds" in note for note in log.notes)


def test_of_folds_in_turn_one_is_read(tmp_path: Path) -> None:
    lines = repeated(
        lambda i: "".join(f"fold {k} epoch {i + 1} loss {LOSS[i] + k:.4f}\n" for k in range(1, 6))
    )
    log = log_of(tmp_path, lines)
    assert steps(log, "loss") == EPOCHS
    assert series(log, "loss").values.tolist() == [float(f"{loss + 1:.4f}") for loss in LOSS]
    assert any("fold 1" in note for note in log.notes)


@pytest.mark.parametrize("tag", ["lora", "phase1", "stage two"])
def test_lines_may_say_what_they_are_about_before_they_count(tmp_path: Path, tag: str) -> None:
    lines = [f"{tag} step {10 * i}/300 loss {2 / (i + 1):.4f}" for i in range(1, 31)]
    (tmp_path / "x.log").write_text("\n".join(lines), encoding="utf-8")
    found = {series.name: series for series in read_log(tmp_path / "x.log").series}
    assert found["loss"].steps.tolist() == [10 * i for i in range(1, 31)]


def test_two_networks_that_train_side_by_side_are_never_merged(tmp_path: Path) -> None:
    lines = [
        f"{tag} step {10 * i}/300 loss {2 / (i + 1):.4f}" for i in range(1, 31) for tag in ("old", "new")
    ]
    (tmp_path / "x.log").write_text("\n".join(lines), encoding="utf-8")
    found = {series.name: len(series) for series in read_log(tmp_path / "x.log").series}
    assert found == {"loss/new": 30, "loss/old": 30}


@pytest.mark.parametrize(
    "head",
    ["12:30:05 tagger", "12:30:05 tagger INFO", "INFO my.tagger", "tagger", "12:30:05 node3 tagger[812]:"],
)
def test_the_name_of_a_logger_before_every_message_is_no_part_of_it(tmp_path: Path, head: str) -> None:
    lines = []
    for i in range(1, 31):
        lines.append(f"{head} epoch {i // 5} step {10 * i}/300 loss={2 / (i + 1):.4f} lr=1.0e-03")
        if i % 5 == 0:
            lines.append(f"{head} valid epoch {i // 5} step {10 * i} loss={3 / (i + 1):.4f} acc={i / 40:.3f}")
    (tmp_path / "x.log").write_text("\n".join(lines), encoding="utf-8")
    found = {series.name: series for series in read_log(tmp_path / "x.log").series}
    assert found["loss"].steps.tolist() == [10 * i for i in range(1, 31)]
    assert (
        found["val/loss"].steps.tolist() == found["val/accuracy"].steps.tolist() == list(range(50, 301, 50))
    )
    assert found["loss"].values[4] != found["val/loss"].values[0]
    assert "epoch" in found


def test_a_name_with_a_slash_behind_a_number_is_no_unit(tmp_path: Path) -> None:
    log = log_of(
        tmp_path,
        repeated(lambda i: f"train/loss: {LOSS[i]:.4f} train/lr: 1.{i}e-3 step: {i} 12.5 samples/s\n")
        + repeated(lambda i: f"valid/loss: {2 * LOSS[i]:.4f} valid/acc: 0.{20 + i} step: {i}\n"),
    )
    assert steps(log, "lr") == steps(log, "val/accuracy") == [*range(12)]


def test_what_is_recalled_hides_no_role(tmp_path: Path) -> None:
    log = log_of(
        tmp_path, repeated(lambda i: f"step {i} val_loss {LOSS[i]:.4f} (best 0.1 @ 3) acc 0.{20 + i} *\n")
    )
    assert steps(log, "val/accuracy") == [*range(12)]


def test_held_out_is_a_role_however_it_is_joined(tmp_path: Path) -> None:
    log = log_of(
        tmp_path,
        repeated(
            lambda i: (
                f"round {i} | loss {LOSS[i]:.3f} | held-out {1.1 * LOSS[i]:.3f} | held_out acc 0.{i + 50}\n"
            )
        ),
    )
    assert len(series(log, "val/loss")) == len(series(log, "val/accuracy")) == 12


def test_a_number_behind_the_name_of_the_data_is_the_epoch(tmp_path: Path) -> None:
    lines = []
    for i in range(12):
        lines.append(f"Train: {i // 4} [{5 * (i % 4):4d}/20]  Loss: {LOSS[i]:.3f}  LR: 1.0e-02\n")
        if i % 4 == 3:
            lines.append(f"Test: {i // 4}  Loss: {2 * LOSS[i]:.4f}  Acc@1: {20 + i}.5\n")
    log = log_of(tmp_path, "".join(lines))
    assert steps(log, "loss") == [5 * i for i in range(12)]
    assert steps(log, "val/loss") == steps(log, "val/accuracy") == [15, 35, 55]
