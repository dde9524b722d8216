"""One path in, one run out: whatever lies in a folder, it is read or named, and the walk ends."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stethoscope.errors import NothingToRead, StethoscopeError
from stethoscope.read import read
from stethoscope.run import Run, folder

CSV = "step,loss\n0,0.9\n10,0.8\n20,0.7\n"
TRAIN = "import torch\nloss = torch.zeros(1)\nloss.backward()\n"


def put(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        write(folder / name.replace("__", "/").replace("_csv", ".csv").replace("_yml", ".yml"), text)
    return folder


def write(path: Path, text: str | bytes = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def reasons(run: Run) -> dict[str, str]:
    return {Path(one.file).name: one.reason for one in run.unread}


def test_a_folder_becomes_one_run(tmp_path: Path) -> None:
    write(tmp_path / "train.csv", CSV)
    write(tmp_path / "train.yml", "lr: 0.1\n")
    write(tmp_path / "train.py", TRAIN)
    write(tmp_path / "models" / "net_g_20.pth", b"weights")
    run = read(tmp_path)
    assert run.name == tmp_path.name
    assert list(run.series) == ["loss"]
    assert run.recipe is not None
    assert run.recipe.get("lr") is not None
    assert run.program is not None
    assert [source.module for source in run.program] == ["train"]
    assert [checkpoint.step for checkpoint in run.checkpoints] == [20]
    assert run.unread == ()


def test_paths_are_shown_as_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "runs" / "a" / "train.csv", CSV)
    monkeypatch.chdir(tmp_path)
    assert read("runs/a").logs[0].file == "runs/a/train.csv"
    assert read("runs/a/train.csv").logs[0].file == "runs/a/train.csv"
    assert read(Path("runs/a")).path == "runs/a"


def test_a_log_comes_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CSV.encode())))
    run = read("-")
    assert (run.path, run.logs[0].file, len(run.series["loss"])) == ("<stdin>", "<stdin>", 3)
    assert run.program is None


def test_nothing_on_standard_input_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(NothingToRead, match=r"found in <stdin>.*<stdin>: empty"):
        read("-")


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NothingToRead, match="no such file"):
        read(tmp_path / "nothing")
    with pytest.raises(NothingToRead, match="is not a path"):
        read("a\0b")


def test_an_empty_folder_says_what_was_looked_for(tmp_path: Path) -> None:
    write(tmp_path / "notes.md", "hello")
    write(tmp_path / "events.out.tfevents.123.host", b"\x00\x01\x02")
    with pytest.raises(NothingToRead) as problem:
        read(tmp_path)
    assert "Looked for: TensorBoard, W&B and MLflow records" in str(problem.value)
    assert "TensorBoard event file without a whole record" in str(problem.value)


def test_what_cannot_be_read_is_named_and_what_is_irrelevant_is_not(tmp_path: Path) -> None:
    write(tmp_path / "train.csv", CSV)
    write(tmp_path / "empty.log")
    write(tmp_path / "odd.log", "1 2 3 4 5 6 7 8 9 10\nsome words\n")
    write(tmp_path / "run-1.wandb", b":W&B\x00\x00\x01")
    write(tmp_path / "old.log.gz", b"\x1f\x8b\x08\x00")
    write(tmp_path / "broken.yml", "a: [1\n")
    write(tmp_path / "broken.py", "def f(:\n")
    for name in ("README.md", "LICENSE", "requirements.txt", "plot.png", "notes.ipynb", ".gitignore"):
        write(tmp_path / name, "1 2 3 4 5 6 7 8 9 10")
    found = reasons(read(tmp_path))
    assert set(found) == {"empty.log", "odd.log", "run-1.wandb", "old.log.gz", "broken.yml", "broken.py"}
    assert "not valid YAML: line" in found["broken.yml"]
    assert "not valid Python" in found["broken.py"]
    assert "gzip archive" in found["old.log.gz"]


def test_links_pipes_and_loops_do_not_stop_it(tmp_path: Path) -> None:
    write(tmp_path / "train.csv", CSV)
    (tmp_path / "latest.pth").symlink_to(tmp_path / "gone.pth")
    (tmp_path / "again").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe.log")
    (tmp_path / "train.log").mkdir()
    run = read(tmp_path)
    assert len(run.logs) == 1
    assert reasons(run) == {"latest.pth": "a link to nothing", "pipe.log": "not a regular file"}


def test_a_named_pipe_is_refused_with_the_way_out(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NothingToRead, match="Pass a pipe on standard input"):
        read(tmp_path / "pipe")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    write(tmp_path / "train.csv", CSV)
    write(tmp_path / "secret.log", "iter 1").chmod(0)
    assert reasons(read(tmp_path)) == {"secret.log": "permission denied"}


def test_a_crowd_is_told_in_one_line(tmp_path: Path) -> None:
    write(tmp_path / "train.csv", CSV)
    for number in range(30):
        write(tmp_path / "labels" / f"{number}.txt", "0 0.5 0.5 0.25 0.25 0.125")
    run = read(tmp_path)
    assert len(run.unread) == 6
    assert run.unread[-1].reason.startswith("25 more: ")


def test_the_walk_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "MAX_ENTRIES", 10)
    for number in range(20):
        write(tmp_path / "images" / f"{number:03}.png", b"png")
    write(tmp_path / "train.csv", CSV)
    deep = tmp_path
    for _ in range(12):
        deep = deep / "d"
    write(deep / "lost.csv", CSV)
    run = read(tmp_path)
    assert len(run.logs) == 1
    assert reasons(run) == {
        "images": "more than 10 entries; the others are not looked at",
        "d": "nested too deep; not looked into",
    }


@pytest.mark.parametrize("name", [".git", "node_modules", "venv", "__pycache__", ".ipynb_checkpoints"])
def test_folders_of_others_are_not_entered(tmp_path: Path, name: str) -> None:
    write(tmp_path / "train.csv", CSV)
    write(tmp_path / name / "other.csv", CSV)
    assert len(read(tmp_path).logs) == 1


def test_the_log_in_the_last_checkpoint_folder_stands_for_all(tmp_path: Path) -> None:
    def state(last: int) -> str:
        history = [{"step": step, "loss": 1 / step, "epoch": step / 100} for step in range(10, last + 1, 10)]
        return json.dumps({"log_history": history, "global_step": last, "max_steps": 100})

    for step in (20, 50):
        write(tmp_path / f"checkpoint-{step}" / "trainer_state.json", state(step))
        write(tmp_path / f"checkpoint-{step}" / "config.json", '{"hidden": 4}')
        write(tmp_path / f"checkpoint-{step}" / "model.safetensors", _safetensors())
        write(tmp_path / f"checkpoint-{step}" / "optimizer.pt", b"state")
    run = read(tmp_path)
    assert [log.file for log in run.logs] == [str(tmp_path / "checkpoint-50" / "trainer_state.json")]
    assert [(Path(c.file).name, c.step, str(c.holds)) for c in run.checkpoints] == [
        ("checkpoint-20", 20, "weights and training state"),
        ("checkpoint-50", 50, "weights and training state"),
    ]
    assert run.recipe is None


def test_of_several_runs_below_a_folder_the_newest_is_read(tmp_path: Path) -> None:
    old = write(tmp_path / "version_0" / "metrics.csv", CSV)
    write(tmp_path / "version_1" / "metrics.csv", CSV.replace("0.9", "0.5"))
    os.utime(old, (1_600_000_000, 1_600_000_000))
    run = read(tmp_path)
    assert [Path(log.file).parent.name for log in run.logs] == ["version_1"]
    assert reasons(run) == {"version_0": "holds another run's log; examine it by itself"}


def test_a_copy_of_the_log_and_a_resumed_log_are_the_same_run(tmp_path: Path) -> None:
    write(tmp_path / "train.csv", CSV)
    write(tmp_path / "wandb" / "run-1" / "files" / "output.csv", CSV)
    write(tmp_path / "resumed" / "train.csv", "step,loss\n20,0.7\n30,0.6\n40,0.5\n50,0.4\n")
    run = read(tmp_path)
    assert len(run.logs) == 3
    assert list(run.series["loss"].steps) == [0, 10, 20, 30, 40, 50]


def curve(level: float, steps: range) -> str:
    return "step,loss,lr\n" + "".join(f"{step},{level / (1 + step / 100):.5f},0.01\n" for step in steps)


def test_of_two_runs_side_by_side_the_longest_is_read(tmp_path: Path) -> None:
    write(tmp_path / "baseline.csv", curve(2.0, range(0, 1000, 10)))
    write(tmp_path / "wide.csv", curve(3.0, range(0, 1600, 10)))
    run = read(tmp_path)
    assert [Path(log.file).name for log in run.logs] == ["wide.csv"]
    assert reasons(run) == {"baseline.csv": "another run: give its path to examine it"}
    assert len(run.segments) == 1
    named = read(tmp_path / "baseline.csv")
    assert [Path(log.file).name for log in named.logs] == ["baseline.csv"]


def test_repetitions_of_a_run_are_different_runs(tmp_path: Path) -> None:
    for seed in range(3):
        write(tmp_path / f"seed{seed}.csv", curve(2.0 + 0.2 * seed, range(0, 1000, 10)))
    assert len(read(tmp_path).logs) == 1


def test_a_run_that_was_begun_again_is_one_run(tmp_path: Path) -> None:
    write(tmp_path / "train_20240101_100000.csv", curve(2.0, range(0, 300, 10)))
    write(tmp_path / "train_20240101_110000.csv", curve(2.2, range(0, 1000, 10)))
    assert len(read(tmp_path).logs) == 2


@pytest.mark.parametrize("second", ["rank1.csv", "val.csv", "epochs.csv"])
def test_files_that_tell_of_one_run_in_different_ways_are_one_run(tmp_path: Path, second: str) -> None:
    write(tmp_path / ("rank0.csv" if "rank" in second else "train.csv"), curve(2.0, range(0, 1000, 10)))
    text = curve(2.6, range(0, 1000, 10))
    write(tmp_path / second, text.replace("step", "epoch") if "epoch" in second else text)
    assert len(read(tmp_path).logs) == 2


def test_runs_in_sub_folders_are_told_apart_whatever_their_format(tmp_path: Path) -> None:
    write(tmp_path / "one" / "log.csv", curve(9.0, range(0, 1000, 10)))
    rows = [json.dumps({"step": step, "loss": 0.7, "lr": 0.1}) for step in range(0, 1000, 10)]
    write(tmp_path / "two" / "log.jsonl", "\n".join(rows))
    assert len(read(tmp_path).logs) == 1


def test_given_settings_and_source_win(tmp_path: Path) -> None:
    run_folder = put(tmp_path / "run", train_csv=CSV, train_yml="lr: 1\n")
    write(run_folder / "train.py", TRAIN)
    other = write(tmp_path / "other.yml", "lr: 2\n")
    source = write(tmp_path / "src" / "mine.py", TRAIN)
    run = read(run_folder, config=other, code=source.parent)
    assert run.recipe is not None
    assert run.program is not None
    assert [(file.file, file.origin) for file in run.recipe.files] == [(str(other), "given")]
    assert (run.program.origin, [s.file for s in run.program]) == ("given", [str(source)])
    assert read(run_folder, code=source).program is not None


@pytest.mark.parametrize("what", ["config", "code"])
def test_given_paths_must_exist(tmp_path: Path, what: str) -> None:
    put(tmp_path, train_csv=CSV)
    with pytest.raises(NothingToRead, match=r"nothing\.yml: no such file or folder"):
        read(tmp_path, **{what: tmp_path / "nothing.yml"})


def test_given_settings_that_are_broken_are_named(tmp_path: Path) -> None:
    put(tmp_path, train_csv=CSV)
    run = read(tmp_path, config=write(tmp_path / "x" / "broken.yml", "a: [1\n"))
    assert run.recipe is None
    assert "not valid YAML" in reasons(run)["broken.yml"]


def test_a_settings_file_or_source_alone_is_a_run(tmp_path: Path) -> None:
    config = write(tmp_path / "train.yml", "lr: 1\n")
    source = write(tmp_path / "train.py", TRAIN)
    assert read(config).recipe is not None
    assert read(source).program is not None


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                [
                    "a.log",
                    "b.csv",
                    "c.jsonl",
                    "d.yml",
                    "e.json",
                    "f.py",
                    "g.safetensors",
                    "config.json",
                    "h.pth",
                    "i.txt",
                ]
            ),
            st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode(errors="replace")),
        ),
        max_size=4,
    )
)
def test_whatever_bytes_a_folder_holds_the_answer_is_a_run_or_a_reason(
    tmp_path_factory: pytest.TempPathFactory, files: list[tuple[str, bytes]]
) -> None:
    root = tmp_path_factory.mktemp("run")
    for name, content in files:
        write(root / name, content)
    with contextlib.suppress(StethoscopeError):
        assert isinstance(read(root), Run)


def _safetensors() -> bytes:
    header = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    return len(header).to_bytes(8, "little") + header + b"\0" * 8
