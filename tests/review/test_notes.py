"""Notes in other styles than the write-ups, about runs of other frameworks, sick and healthy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from stethoscope.review import Kind, Review, read_document, review
from stethoscope.review.document import text_of
from tests.review import runs

NOTES = Path(__file__).parent / "notes"

SUPPORTED, REFUTED, UNTESTED = "supported", "refuted", "untested"
NO_EFFECT, UNKNOWN = "no-effect", "unknown-key"

Make = Callable[[Path], Path]


def diverged(folder: Path) -> Path:
    return runs.plain(folder, runs.diverging)


CASES: list[tuple[str, Make | None, list[tuple[str, str, str]]]] = [
    (
        "forum-post-hf",
        diverged,
        [
            ("lr", "2e-05", SUPPORTED),
            ("warmup_steps", "100", UNTESTED),
            ("max_grad_norm", "0.5", UNTESTED),
            ("batch_size", "16", UNTESTED),
        ],
    ),
    (
        "forum-post-hf",
        runs.huggingface,
        [
            ("learning_rate", "2e-05", UNTESTED),
            ("warmup_steps", "100", UNTESTED),
            ("max_grad_norm", "0.5", UNTESTED),
            ("fp16", "bf16", UNTESTED),
            ("per_device_train_batch_size", "4", UNTESTED),
        ],
    ),
    (
        "assistant-hf",
        runs.huggingface,
        [
            ("learning_rate", "2e-05", UNTESTED),
            ("warmup_steps", "100", UNTESTED),
            ("weight_decay", "0.01", UNTESTED),
            ("evaluation_stategy", "steps", UNKNOWN),
        ],
    ),
    (
        "assistant-hf",
        None,
        [
            ("learning_rate", "2e-05", UNTESTED),
            ("warmup_steps", "100", UNTESTED),
            ("max_grad_norm", "1", UNTESTED),
            ("weight_decay", "0.01", UNTESTED),
            ("evaluation_stategy", "steps", UNKNOWN),
        ],
    ),
    (
        "issue-comment-lightning",
        runs.lightning,
        [
            ("trainer.gradient_clip_val", "1", UNTESTED),
            ("trainer.precision", "bf16-mixed", UNTESTED),
            ("trainer.accumulate_grad_batches", "4", UNTESTED),
            ("optimizer.init_args.lr", "0.0003", UNTESTED),
        ],
    ),
    (
        "table-timm",
        runs.timm,
        [
            ("lr", "0.0005", UNTESTED),
            ("drop_path", "0.2", UNTESTED),
            ("epochs", "300", UNTESTED),
            ("mixup", "null", UNTESTED),
        ],
    ),
    (
        "chat-mmengine",
        runs.mmengine,
        [
            ("optim_wrapper.optimizer.lr", "0.0025", UNTESTED),
            ("optim_wrapper.clip_grad.max_norm", "35", UNTESTED),
            ("optim_wrapper.clip_grad.norm_type", "2", UNTESTED),
            ("train_cfg.max_epochs", "24", UNTESTED),
        ],
    ),
    (
        "axolotl-advice",
        runs.axolotl,
        [
            ("learning_rate", "2e-05", UNTESTED),
            ("warmup_ratio", "0.03", UNTESTED),
            ("sample_packing", "true", UNTESTED),
            ("lora_r", "32", UNTESTED),
            ("flash_attention", "true", UNTESTED),
        ],
    ),
    (
        "deutsch",
        diverged,
        [("lr", "0.0001", SUPPORTED), ("max_grad_norm", "0.5", UNTESTED), ("warmup_steps", "200", UNTESTED)],
    ),
    (
        "deutsch",
        runs.plain,
        [("lr", "0.0001", UNTESTED), ("max_grad_norm", "0.5", UNTESTED), ("warmup_steps", "200", UNTESTED)],
    ),
    (
        "command-line",
        runs.plain,
        [("lr", "0.0001", UNTESTED), ("batch_size", "64", UNTESTED), ("max_grad_norm", "1", NO_EFFECT)],
    ),
    ("before-after-pairs", diverged, [("lr", "0.0003", SUPPORTED), ("warmup_steps", "500", UNTESTED)]),
    ("before-after-pairs", runs.plain, [("lr", "0.0003", UNTESTED), ("warmup_steps", "500", UNTESTED)]),
    (
        "toml-note",
        runs.toml,
        [
            ("optim.lr", "0.0003", UNTESTED),
            ("optim.betas", "[0.9, 0.95]", UNTESTED),
            ("optim.warmup", "300", NO_EFFECT),
            ("train.batch_size", "64", UNTESTED),
            ("train.compile", "true", NO_EFFECT),
        ],
    ),
    (
        "json-deepspeed",
        None,
        [
            ("train_micro_batch_size_per_gpu", "4", UNTESTED),
            ("gradient_accumulation_steps", "8", UNTESTED),
            ("gradient_clipping", "1", UNTESTED),
            ("fp16.enabled", "false", UNTESTED),
            ("bf16.enabled", "true", UNTESTED),
            ("optimizer.type", "AdamW", UNTESTED),
            ("optimizer.params.lr", "1e-05", UNTESTED),
        ],
    ),
    ("only-prose", diverged, []),
]


def reviewed(note: str, make: Make | None, folder: Path) -> Review:
    reading = read_document(text_of(NOTES / f"{note}.md"), f"{note}.md")
    return review([reading], runs.diagnosed(make(folder / "run")) if make else None)


@pytest.mark.parametrize(
    ("note", "make", "expected"), CASES, ids=[f"{n}-{m.__name__ if m else 'alone'}" for n, m, _ in CASES]
)
def test_a_note_is_read_and_judged(
    note: str, make: Make | None, expected: list[tuple[str, str, str]], tmp_path: Path
) -> None:
    found = reviewed(note, make, tmp_path)
    claims = [
        (one.change.key, one.change.to, one.ruling.value)
        for one in found.claims
        if one.change.kind is Kind.SETTING
    ]
    assert sorted(claims) == sorted(expected)


def test_figures_are_held_to_the_log(tmp_path: Path) -> None:
    found = reviewed("figures", diverged, tmp_path)
    rulings = [(one.where[0].line, one.change.key, one.ruling.value) for one in found.claims]
    assert rulings == [
        (1, "loss", SUPPORTED),
        (3, "val/loss", SUPPORTED),
        (5, "loss", SUPPORTED),
        (6, "val/loss", REFUTED),
        (7, "loss", UNTESTED),
        (8, "BLEU", UNTESTED),
    ]
    refuted = found.claims[3].judgement
    assert refuted.why == "val/loss is 3.56521 at step 500, not 0.2"
    assert str(refuted.evidence[0].where[0]).startswith("val/loss at step 500")


def test_prose_about_mechanisms_is_listed_and_never_judged(tmp_path: Path) -> None:
    found = reviewed("only-prose", diverged, tmp_path)
    assert found.claims == ()
    assert [one.where.line for one in found.unparsed] == [1]
    assert [one.name for one in found.missed] == ["learning-rate-too-high"]
    assert found.is_objectionable


def test_advice_that_names_the_cause_misses_nothing(tmp_path: Path) -> None:
    found = reviewed("before-after-pairs", diverged, tmp_path)
    assert found.missed == ()
    assert not found.is_objectionable


def test_a_healthy_run_gives_no_reason_to_object_to_harmless_advice(tmp_path: Path) -> None:
    assert not reviewed("table-timm", runs.timm, tmp_path).is_objectionable
    assert not reviewed("deutsch", runs.plain, tmp_path).is_objectionable
