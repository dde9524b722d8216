"""Real logs from public repositories: those in a format read here give what a reader sees in them."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from stethoscope.errors import UnreadableFile
from stethoscope.logs import read_log, splice
from stethoscope.run import EventKind, Log
from tests.logs.reading import series

pytestmark = pytest.mark.corpus

# First and last value, and the number of points, as the manifest or a look into the file tells them.
READ = [
    ("trainner_redux/*realtime*/*.log", "loss", 600, 3.4049e-02, 1.6787e-02),
    ("trainner_redux/*realtime*/*.log", "val/psnr", 60, 33.8081, 35.3349),
    ("trainner_redux/*realtime*/*.log", "loss_scale", 600, 1.0, 1.0),
    ("trainner_redux/*aborted*/*.log", "loss", 45, 3.3823e-02, 1.8782e-02),
    ("trainner_redux/*resumed*/*.log", "val/psnr", 52, 34.5062, 35.8047),
    ("basicsr/*20241018/*.log", "loss/pix", 651, 2.3872e-02, 5.2730e-02),
    ("edm_stats/*/stats.jsonl", "loss", 8, 783023.45, 636747.2),
    ("stylegan_stats/*/stats.jsonl", "loss/d", 80, 0.1659, 0.8234),
    ("guided_diffusion/*khanhnn_main/progress.csv", "loss", 2065, 16.5576, 0.13978),
    ("guided_diffusion/*lr1e-7/progress.csv", "loss", 4736, 13.7689, 10.4934),
    ("hf_trainer/*news_overfit/trainer_state.json", "loss", 90, 1.6241, 0.022),
    ("hf_trainer/*news_overfit/trainer_state.json", "val/loss", 9, 0.98021, 1.76076),
    ("hf_trainer/*qlora*/trainer_state.json", "loss", 1000, 5.4962, 0.0886),
    ("hf_trainer/*unitsyn*/trainer_state.json", "loss", 350, 34.9679, 2.2922),
    ("hf_trainer/*viz_groups/trainer_state.json", "val/loss/g0", 31, 5.74158, 2.74867),
    ("hf_trainer/*nsllm*/trainer_log.jsonl", "loss", 435, 2.3475, 1.9787),
    ("llamafactory/*exam60/trainer_log.jsonl", "val/loss", 13, 1.00901, 0.88283),
    ("llamafactory/*grpo_360/trainer_log.jsonl", "loss", 202, 0.6491, 0.4962),
    ("detr_json/*/log.txt", "loss", 2, 24.5334, 24.61995),
    ("lightning/*v28/metrics.csv", "train_loss_epoch", 10000, 230.721, 1.9395e-04),
    ("lightning/*v18/metrics.csv", "loss", 1260, 0.147635, 0.044393),
    ("llmc/*main_log_124M/main.log", "val/loss", 80, 11.0095, 3.2731),
    ("llmc/*record*/main.log", "loss", 19560, 11.0091, 3.2217),
    ("modded_nanogpt/*adamw*/*.log", "val/loss", 76, 10.968871, 3.275959),
    ("modded_nanogpt/*short*/*.txt", "loss", 5100, 15.9929, 3.3302),
    ("modded_nanogpt/*switchbank*/*.txt", "val/loss", 36, 10.962517, 2.870304),
    ("modded_nanogpt/*aborted*/*.txt", "loss", 120, 10.8258, 4.7764),
    ("modded_nanogpt/*whale*/log.txt", "val/loss", 47, 6.9078, 1.5471),
    ("nanogpt/*plateau/*.log", "loss", 28072, 11.0084, 10.9487),
    ("nanogpt/*lozo_train/*.log", "loss", 494, 10.862, 10.1601),
    ("nanochat/*speedrun*/*.log", "loss", 16704, 10.397165, 2.417931),
    ("nanochat/*speedrun*/*.log", "val/bpb", 68, 3.167584, 0.753336),
    ("flair/*/loss.tsv", "val/f1", 25, 0.1523, 0.3339),
    ("hf_trainer/*viz_groups/trainer_state.json", "val/loss", 31, 5.74158, 2.74867),
    ("stylegan_stats/*/metric-fid50k_full.jsonl", "val/fid", 8, 1.17695658e57, -1.8707221e50),
    ("megatron/*gpt3_15b*/golden_values*.json", "loss", 2544, 12.98419, 2.28622),
    ("megatron/*mixtral*/golden_values*.json", "loss", 263, 12.66665, 2.935),
    ("torchtitan/*/llama3_cuda.txt", "loss", 100, 8.049097, 2.746472),
    ("jax_or_misc/*baseline/*.csv", "val/loss", 21, 4.23826, 1.68833),
    ("jax_or_misc/*baseline/*.csv", "train/loss", 21, 4.23929, 0.63227),
]

# Logs of the manifest that give no loss and no metric, and why.
WITHOUT_VALUES = {
    "basicsr/ChhaviPan23__Super_Res__super_res_crash": "training did not begin",
    "deepspeed/microsoft__DeepSpeedExamples__dschat_7b_crash": "",  # DeepSpeed's own lines, no loss
    "icefall/k2-fsa__icefall__librispeech_txt": "training did not begin",
    "espnet/espnet__espnet__svs_train_log": "training did not begin",
    "chronicles/": "a document, settings or source, by its name",
    "research_benchmarks/": "labelled examples, not a log",
}
LEAST_READ = 84  # logs of the manifest with a loss or a metric; may rise, never fall


def only(corpus: Path, pattern: str) -> Log:
    (path,) = corpus.glob(pattern)
    return read_log(path)


@pytest.mark.parametrize(("pattern", "name", "count", "first", "last"), READ)
def test_a_real_log_gives_its_values(
    corpus: Path, pattern: str, name: str, count: int, first: float, last: float
) -> None:
    found = series(only(corpus, pattern), name)
    assert len(found) == count
    assert found.values[[0, -1]] == pytest.approx([first, last], rel=1e-4)


def test_every_file_is_read_or_refused_with_a_reason(corpus: Path) -> None:
    for path in sorted(p for p in corpus.rglob("*") if p.is_file()):
        try:
            log = read_log(path, path.name)
        except UnreadableFile:
            continue
        for current in splice([log]).series.values():
            assert (np.diff(current.steps) > 0).all()


def test_every_log_gives_a_loss_or_a_metric_or_says_why_not(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (corpus / "MANIFEST.tsv").open(encoding="utf-8") as stream:
        rows = [*csv.DictReader(stream, delimiter="\t")]
    logs = [row["path"] for row in rows if row["role"].startswith("log")]
    silent = {path: said for path in logs if (said := _why_without_values(corpus / path)) is not None}
    with capsys.disabled():
        print(f"\n{len(logs) - len(silent)} of {len(logs)} logs of the corpus give a loss or a metric")
    for path, said in silent.items():
        (why,) = [why for start, why in WITHOUT_VALUES.items() if path.startswith(start)]
        assert why in said, path
    assert len(logs) - len(silent) >= LEAST_READ


def _why_without_values(path: Path) -> str | None:
    """What is said about a log that gives no loss and no metric; None for one that does."""
    try:
        log = read_log(path)
    except UnreadableFile as refusal:
        return str(refusal)
    telling = [s for s in log.series if len(s) and s.name.startswith(("loss", "val/", "train/"))]
    return None if telling else " ".join(log.notes)


def test_the_settings_in_a_real_log_are_a_document(corpus: Path) -> None:
    for pattern, total in (
        ("trainner_redux/*realtime*/*.log", 200_000),
        ("basicsr/*20241018/*.log", 400_000),
    ):
        log = only(corpus, pattern)
        (document,) = log.documents
        assert "total_iter" in document.text
        assert log.total_steps == total


def test_a_real_run_in_five_files_is_spliced(corpus: Path) -> None:
    spliced = splice([read_log(path) for path in corpus.glob("basicsr/*/*.log")])
    assert [(s.first, s.last) for s in spliced.segments] == [
        *((100, 65_100), (65_100, 182_700), (180_100, 258_500), (320_100, 325_000), (315_100, 322_700)),
    ]
    assert spliced.series["loss"].steps[-1] == 322_700
    left = [piece.steps[[0, -1]].tolist() for piece in spliced.abandoned if piece.name == "loss"]
    assert left == [[65_100, 65_100], [180_100, 182_700], [320_100, 325_000]]


def test_a_real_run_stopped_and_resumed_is_one_run(corpus: Path) -> None:
    logs = [only(corpus, f"trainner_redux/*stream*{part}/*.log") for part in ("aborted", "resumed")]
    assert EventKind.STOPPED_BY_USER in {event.kind for event in logs[0].events}
    assert EventKind.FINISHED in {event.kind for event in logs[1].events}
    spliced = splice(logs)
    assert len(spliced.series["val/psnr"]) == 56
    assert spliced.abandoned == ()


def test_nan_in_a_real_log_is_kept(corpus: Path) -> None:
    loss = series(only(corpus, "nanochat/*sft_nan/*.log"), "loss")
    assert int(np.isnan(loss.values).sum()) == 125


def test_healthy_logs_announce_no_failure(corpus: Path) -> None:
    failures = {EventKind.OUT_OF_MEMORY, EventKind.KILLED, EventKind.TRACEBACK, EventKind.NON_FINITE}
    for pattern in (
        "trainner_redux/*/*.log",
        "basicsr/*/*.log",
        "modded_nanogpt/*/*.txt",
        "nanochat/*/*.log",
    ):
        for path in corpus.glob(pattern):
            assert not failures & {event.kind for event in read_log(path).events}, path
