"""What is read from a document: every form, and every kind of damage."""

from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope.errors import NothingToRead, UnreadableFile
from stethoscope.review.claim import Kind, Proposal
from stethoscope.review.document import MOST_BYTES, decoded, repaired, text_of
from stethoscope.review.reading import MOST_LINES, read_document
from stethoscope.review.values import number_of, same, value_of


def proposals(text: str) -> list[Proposal]:
    return list(read_document(text, "notes.md").proposals)


def told(text: str) -> list[tuple[str, str, str]]:
    """Each proposal as its likeliest name, the old value and the new one."""
    return [(".".join(one.names[0]), one.before, one.to or one.direction) for one in proposals(text)]


# --- forms ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Set lr to 1e-5.", ("lr", "", "1e-5")),
        ("reduce `max_grad_norm` from 1.0 to 0.5", ("max_grad_norm", "1.0", "0.5")),
        ("You should increase batch size to 8", ("batch size", "", "8")),
        ("I would lower the learning rate to 2x10^-4 here", ("learning rate", "", "2x10^-4")),
        ("`weight_decay` should be 0.1", ("weight_decay", "", "0.1")),
        ("Please use `dropout=0.2` instead", ("dropout", "", "0.2")),
        ("Lower learning rate: 1e-4 -> 5e-5 for stability", ("Lower learning rate", "1e-4", "5e-5")),
        ("5,000 → 20,000 preschool steps", ("preschool steps", "5,000", "20,000")),
        ("Drop the batch size to one and accumulate", ("batch size", "", "one")),
        ("Changed `lr` from `0.1` to `0.01`", ("lr", "0.1", "0.01")),
        ("Fix: decrease train.kl_weight (try 0.1 from 0.2)", ("train.kl_weight", "0.2", "0.1")),
        ("Try reducing base_lr to 3e-5 or less", ("base_lr", "", "3e-5")),
        ("Try --tolerance 0.01 first", ("tolerance", "", "0.01")),
        ("Use fp32 instead of bf16 (slower)", ("precision", "", "fp32")),
        ("| P2 | Why |\n|---|---|\n| Raise block_size to 256 | boards |", ("block_size", "", "256")),
        ("```python\n- Reduce the lr (2e-5 instead of 2e-4)\n- Check your data\n```", ("lr", "2e-4", "2e-5")),
        ("- base_lr = 5e-5 (reduced from 1e-4)", ("base_lr", "1e-4", "5e-5")),
        ("### 2. Reduced Learning Rate (2.5e-4 → 1.0e-4)", ("Reduced Learning Rate", "2.5e-4", "1.0e-4")),
        ("Switch to bf16", ("precision", "", "bf16")),
        ("Increase the warmup", ("warmup", "", "up")),
        ("✅ batch_size: 32", ("batch_size", "", "32")),
        ("Recommended: `lr = 1e-4`", ("lr", "", "1e-4")),
        ("Setze die Lernrate auf 1e-4", ("Lernrate", "", "1e-4")),
        ("Disable gradient checkpointing", ("gradient checkpointing", "", "false")),
        ("Set the learning\nrate to 1e-4", ("learning rate", "", "1e-4")),
    ],
)
def test_a_sentence_that_asks_for_a_change(text: str, expected: tuple[str, str, str]) -> None:
    found = told(text)
    assert found[0] == expected
    assert [one for one in found[1:] if one[2] != "down"] == []  # "Lower ...: 1 -> 2" is also a direction


@pytest.mark.parametrize(
    ("text", "factor"), [("halve the learning rate", 0.5), ("Reduce the lr by 10x", 0.1)]
)
def test_a_change_by_a_factor(text: str, factor: float) -> None:
    (one,) = proposals(text)
    assert one.factor == pytest.approx(factor)


@pytest.mark.parametrize(
    "text",
    [
        "Your learning rate was too high (0.001) → large updates.",
        "Don't set lr to 1e-2.",
        "The loss is at 0.5 after step 100.",
        "All of our experiments use bfloat16.",
        "With `lr=3e-4` it diverged.",
        "❌ lr: 0.1",
        "Current: `lr = 1e-3`",
        "Loss 6.0 -> 0.06",
    ],
)
def test_what_asks_for_nothing(text: str) -> None:
    assert told(text) == []


def test_before_and_after_in_one_block() -> None:
    text = "```yaml\n# BEFORE\nlr: 0.001\nclip: 1\n\n# AFTER\nlr: 0.0002  # Reduced 5x\nclip: 1\n```\n"
    lr, clip = proposals(text)
    assert (lr.names[0], lr.before, lr.to, lr.where.line) == (("lr",), "0.001", "0.0002", 7)
    assert clip.whole  # the same on both sides: it stays


def test_crosses_and_ticks_in_a_block() -> None:
    text = "```yaml\nlr: 1  # ❌ too high\n```\n\n```yaml\nlr: 2  # ✅ fine\n```\n"
    assert told(text) == [("lr", "", "2")]


def test_a_key_given_twice_is_old_and_new() -> None:
    assert told("```yaml\nlr: 1\nlr: 2\n```") == [("lr", "1", "2")]


def test_a_block_below_a_heading_of_problems_is_what_is_there() -> None:
    block = '```bash\nBATCH_SIZE="4"\nGRAD_ACCUM="16"\n```\n'
    assert told(f"## Issues found\n\n{block}") == []
    assert told(f"## Recommended\n\n{block}") == [("BATCH_SIZE", "", '"4"'), ("GRAD_ACCUM", "", '"16"')]


def test_settings_pasted_without_a_fence() -> None:
    pasted = "args = TrainingArguments(\n    learning_rate=3e-5,\n    warmup_steps=1000,\n    fp16=True,\n)\n"
    assert [(name, to) for name, _, to in told(pasted)] == [
        ("learning_rate", "3e-5"),
        ("warmup_steps", "1000"),
        ("fp16", "True"),
    ]
    assert told("loss: 0.5\naccuracy: 0.9\nstep: 100\n") == []
    assert told("Note: mind this\nTip: read on\nWarning: it is late\n") == []


def test_sections_tables_and_braces_give_the_path() -> None:
    assert told("```yaml\noptim:\n  adam:\n    lr: 1\nseed: 2\n```") == [
        ("optim.adam.lr", "", "1"),
        ("seed", "", "2"),
    ]
    assert told("```toml\n[optim.adam]\nlr = 1\n```") == [("optim.adam.lr", "", "1")]
    assert told('```json\n{"optim": {"lr": 1}}\n```') == [("optim.lr", "", "1")]
    assert told("```python\noptim = dict(type='SGD', lr=0.1)\n```")[1] == ("optim.lr", "", "0.1")


def test_only_flags_of_a_training_count() -> None:
    text = "```sh\npython train.py --lr 1 \\\n  --bs=2\npython evaluate.py --bs 4 \\\n  --ckpt x\n```"
    assert told(text) == [("lr", "", "1"), ("bs", "", "2")]


def test_calls_that_take_no_settings_are_left_alone() -> None:
    assert told("```python\ny = torch.fft.fft2(x, dim=2)\nwith autocast(enabled=False): pass\n```") == []


def test_a_diff_has_two_sides() -> None:
    text = "```diff\n--- a/c.yml\n+++ b/c.yml\n@@ -1,3 +1,3 @@\n optim:\n-  lr: 1\n+  lr: 2\n   seed: 3\n```"
    assert told(text) == [("optim.lr", "1", "2")]


def test_a_diff_of_source_is_a_change_of_source() -> None:
    text = "```diff\n--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-    return score\n+    return 1 - score\n```"
    (one,) = proposals(text)
    assert (one.kind, one.before, one.to) == (Kind.SOURCE, "return score", "return 1 - score")


@pytest.mark.parametrize(
    "heads",
    ["Parameter | Current | Recommended", "Setting | Your value | Suggested", "Key | Before | After"],
)
def test_a_table_in_several_wordings(heads: str) -> None:
    text = f"| {heads} |\n|---|---|---|\n| lr | 1e-3 | 1e-4 (safer) |\n| seed | 1 | - |\n| bs | 8 | 8 |\n"
    assert told(text) == [("lr", "1e-3", "1e-4")]


def test_a_table_of_results_is_no_proposal() -> None:
    assert told("| epoch | loss | psnr |\n|---|---|---|\n| 1 | 0.5 | 20 |\n") == []


def test_a_checkpoint_to_go_back_to() -> None:
    (one,) = proposals("3. **Resume training** from iteration 1,000 checkpoint (best performing)")
    assert (one.kind, one.to, one.where.line) == (Kind.CHECKPOINT, "1,000", 1)


def test_source_before_and_after() -> None:
    text = "```python\n# BEFORE\nreturn x / sqrt(v + 1e-5)\n# AFTER\nreturn x / sqrt(v + 1e-4)\n```"
    (one,) = proposals(text)
    assert (one.kind, one.where.line) == (Kind.SOURCE, 5)


# --- damage ---------------------------------------------------------------------------------------------


def test_a_fence_that_was_torn_apart() -> None:
    text = "```yaml\nouter:\n## Heading\n\n```yaml\nlr: 1\n```\n\nProse.\n```\n\n### Step 2\n```yaml\nbs: 2"
    assert told(text) == [("lr", "", "1"), ("bs", "", "2")]


@pytest.mark.parametrize("codec", ["cp1252", "cp1254", "mac_roman", "latin-1"])
def test_mojibake_is_undone(codec: str) -> None:
    damaged = "lr: 1 → 2 ✅ ok".encode().decode(codec, errors="ignore")
    assert "→" in repaired(damaged)
    assert "✅" in repaired(damaged)


def test_line_numbers_survive_windows_line_ends() -> None:
    text = decoded(b"a\r\n\r\n```yaml\r\nlr: 1\r\n```\r\n", "x")
    assert [one.where.line for one in proposals(text)] == [4]


def test_other_encodings_are_text() -> None:
    assert decoded("größer → 1".encode("utf-16"), "x") == "größer → 1"
    assert decoded("größer".encode("latin-1"), "x") == "größer"


def test_what_is_no_document_says_so(tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    for content, message in ((b"", "is empty"), (b" \n\n", "is empty"), (b"\x7fELF\0\0\1", "binary")):
        file.write_bytes(content)
        with pytest.raises(UnreadableFile, match=message):
            text_of(file)
    with pytest.raises(UnreadableFile, match="is a folder"):
        text_of(tmp_path)
    with pytest.raises(NothingToRead, match="does not exist"):
        text_of(tmp_path / "none.md")


def test_too_long_a_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    with open(file, "wb") as stream:
        stream.truncate(MOST_BYTES + 1)
    with pytest.raises(UnreadableFile, match="too many"):
        text_of(file)


def test_a_long_document_is_read_to_a_bound() -> None:
    reading = read_document("\n" * MOST_LINES + "Set lr to 1.\n", "x")
    assert reading.proposals == ()
    assert "only its first" in reading.notes[0]
    many = read_document("```yaml\n" + "\n".join(f"k{n}: {n}" for n in range(3000)) + "\n```", "x")
    assert len(many.proposals) == 500
    assert "more than 500" in many.notes[0]


# --- values ---------------------------------------------------------------------------------------------


def test_numbers_as_people_write_them() -> None:
    written = {
        "20k": 20_000,
        "5,000": 5000,
        "1e-5": 1e-5,
        "2x10^-4": 2e-4,
        "~0.3": 0.3,
        "50%": 0.5,
        ".5": 0.5,
    }
    assert {text: number_of(text) for text in written} == pytest.approx(written)
    assert [number_of(text) for text in ("five", "1e999", "2x", "")] == [None] * 4


def test_values_that_are_the_same() -> None:
    assert same("1e-4", 0.0001)
    assert same("True", True)
    assert same("[0.9, 0.95]", [0.9, 0.95])
    assert same("torch.optim.AdamW", "adamw")
    assert not same("a.yaml", "b.yaml")
    assert not same(0, None)
    assert value_of('!!float "5e-5"') == pytest.approx(5e-5)
    assert value_of("none") is None


def test_each_value_belongs_to_the_words_right_before_it() -> None:
    names = [one.names for one in proposals("Put grad_clip = 0.5, also warmup 1500 -> 200 helped me.")]
    assert all(("grad_clip",) not in of_one for of_one in names if ("warmup",) in of_one)
    assert any(("warmup",) in of_one for of_one in names)


def test_a_diff_that_lost_its_fence() -> None:
    text = "Try this:\n\n--- a/conf.yaml\n+++ b/conf.yaml\n@@ -1 +1 @@\n-  lr: 0.001\n+  lr: 0.0001\n\nSo."
    assert told(text) == [("lr", "0.001", "0.0001")]


def test_before_and_after_as_lines_of_their_own() -> None:
    text = "BEFORE\n    n_iters: 100000\n    epochs: 16\nAFTER\n    n_iters: 1024\n    epochs: 64\n"
    assert told(text) == [("n_iters", "", "1024"), ("epochs", "", "64")]


def test_a_verb_that_comes_last() -> None:
    assert told("Bitte `optim.lr` von 3e-4 auf 1e-4 senken.") == [("optim.lr", "3e-4", "1e-4")]
    assert told("Dann `curriculum.enabled` auf `false` setzen.") == [("curriculum.enabled", "", "false")]


def test_a_setting_without_the_marks_of_code() -> None:
    assert told("Set up the run again with max_grad_norm=0.1 instead.") == [("max_grad_norm", "", "0.1")]
    assert told("The run had max_grad_norm=0.1 and dropout=0.3.") == []


def test_a_sentence_beside_a_proposal_is_still_listed() -> None:
    reading = read_document("The optimiser is fighting the curriculum here. Set lr to 1e-5.", "notes.md")
    assert [one.text for one in reading.unparsed] == ["The optimiser is fighting the curriculum here."]
