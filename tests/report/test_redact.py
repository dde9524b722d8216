"""What is private never reaches a report, whatever field it stands in and whatever the format."""

from __future__ import annotations

import json
import string
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stethoscope import diagnose
from stethoscope.compare import compare
from stethoscope.report import (
    compare_json,
    compare_markdown,
    compare_text,
    json_report,
    text_report,
    triage_tables,
)
from stethoscope.report.redact import PLACEHOLDER, Redactor, redacted
from stethoscope.report.terminal import plain_console
from stethoscope.triage import Summary, Triage
from tests.compare.runs import losses, write

SECRETS = {
    "user": "mallory",
    "host": "gpu-node-17",
    "mail": "mallory.smith@example.com",
    "ip": "10.21.32.43",
    "key": "sk-proj4f9Q2mX7vB1nK8sD3wZ6",
    "hugging": "hf_QwErTyUiOpAsDfGhJkLz1234",
    "wandb": "0123456789abcdef0123456789abcdef01234567",
    "password": "correct-horse",
    "url": "https://mallory:pw@internal.example.com/x?token=1",
    "folder": "secret-project-x",
    "random": "Zx81kLq9PwTr27VbNm40HsJd",
}
CODE = '''
import torch

PASSWORD = "correct-horse"


def train(model, data, lr):
    """Runs on gpu-node-17 for mallory."""
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for x, y in data:
        loss = (model(x) - y).pow(2).mean()
        optimizer.step()
        loss.backward()
'''
SETTINGS = """lr: 0.001
clip: {clip}
password: correct-horse
username: mallory
hostname: gpu-node-17
api_key: sk-proj4f9Q2mX7vB1nK8sD3wZ6
hub_token: hf_QwErTyUiOpAsDfGhJkLz1234
report_to: https://mallory:pw@internal.example.com/x?token=1
master: 10.21.32.43
notify: mallory.smith@example.com
data_path: /home/mallory/secret-project-x/{clip}/train.lmdb
weights: Zx81kLq9PwTr27VbNm40HsJd-{clip}
wandb_api_key: 0123456789abcdef0123456789abcdef01234567
"""
TRACEBACK = """Traceback (most recent call last):
  File "/home/mallory/secret-project-x/train.py", line 7, in <module>
ConnectionError: mallory@gpu-node-17 (10.21.32.43) password=correct-horse hf_QwErTyUiOpAsDfGhJkLz1234
"""


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    home = tmp_path / "home" / "mallory" / "secret-project-x"
    bad_values = losses(2)
    bad_values[120:] *= 8
    good = write(home / "good", losses(1), SETTINGS.format(clip=1.0), CODE)
    bad = write(
        home / "bad-mallory",
        bad_values,
        SETTINGS.format(clip=0.0),
        CODE.replace("    loss.b", "    (loss).b"),
    )
    (bad / "stdout.log").write_text(
        "".join(f"iter {n}: loss {value:.4f}\n" for n, value in enumerate(bad_values)) + TRACEBACK
    )
    return good, bad


def leaked(text: str) -> list[str]:
    plain = text.replace("\\", "").replace("\n", "").replace(" ", "")
    return [name for name, secret in SECRETS.items() if secret in text or secret.replace(" ", "") in plain]


def test_no_secret_reaches_a_diagnosis(runs: tuple[Path, Path]) -> None:
    diagnosis = redacted(diagnose(runs[1]))
    for width in (40, 80, 200):
        assert leaked(text_report.render(diagnosis, plain_console(width), verbose=True)) == []
    told = json_report.render(diagnosis)
    assert leaked(told) == []
    assert json.loads(told)["run"]["name"].startswith("bad-<user-")


def test_no_secret_reaches_a_comparison(runs: tuple[Path, Path]) -> None:
    whole = compare(*runs)
    assert leaked(compare_json.render(whole)) != []
    compared = redacted(whole)
    assert leaked(compare_text.render(compared, plain_console(60), verbose=True)) == []
    assert leaked(compare_markdown.render(compared)) == []
    assert leaked(compare_json.render(compared)) == []
    assert [one.part for one in compared.signals.compared] == [one.part for one in whole.signals.compared]


def test_no_secret_reaches_a_triage() -> None:
    error = "could not open /home/mallory/secret-project-x/run.db on gpu-node-17.example.com"
    one = Summary("/home/mallory/secret-project-x/a", "a", "unreadable", error=error, next="ask mallory")
    found, shown = redacted((Triage("/home/mallory", (one,)), [one]))
    for told in (
        triage_tables.as_json(found, shown),
        triage_tables.as_csv(shown),
        triage_tables.as_markdown(found, shown),
    ):
        assert "mallory" not in told
        assert "secret-project-x" not in told
        assert "gpu-node-17" not in told


def test_what_was_one_thing_is_one_placeholder() -> None:
    redactor = Redactor()
    first = redactor.text("see /home/x/runs/train.py and 10.0.0.7")
    again = redactor.text("10.0.0.7 wrote /home/x/runs/log.txt")
    assert first == "see <path-1>/train.py and <ip-1>"
    assert again == "<ip-1> wrote <path-1>/log.txt"
    assert redactor.text(first) == first


def test_the_words_of_training_stay() -> None:
    said = (
        "val/psnr is best at step 400 (0.4268), loss/l1 9.39 steps/s; pad_token: <pad>, max_tokens: 1024, "
        "torch 2.4.1, SSIMLoss.forward, 0:08:44, and/or, 1/2, optimizer.param_groups[0], 2026-11-15 09:51:31"
    )
    assert Redactor().text(said) == said


def test_objects_that_were_one_stay_one(runs: tuple[Path, Path]) -> None:
    diagnosis = redacted(diagnose(runs[1]))
    found = set(map(id, diagnosis.examination.found))
    assert {id(one) for one in diagnosis.explanation.symptoms} <= found


KINDS = (str.isupper, str.islower, str.isdigit)
WORDS = st.text(string.ascii_lowercase, min_size=6, max_size=12)
TOKENS = st.text(string.ascii_letters + string.digits, min_size=28, max_size=40).filter(
    lambda word: (
        all(sum(map(kind, word)) >= 3 for kind in (str.isupper, str.islower, str.isdigit))
        and len(set(word)) > 20
    )
)
PLANTED = st.one_of(
    st.tuples(WORDS, WORDS).map(
        lambda pair: (f"/home/{pair[0]}/{pair[1]}/x.pt", f"/home/{pair[0]}/{pair[1]}")
    ),
    st.tuples(WORDS, WORDS).map(lambda pair: (f"{pair[0]}@{pair[1]}.com", f"{pair[0]}@{pair[1]}.com")),
    TOKENS.map(lambda word: (word, word)),
    TOKENS.map(lambda word: (f"ghp_{word}", word)),
    WORDS.map(lambda word: (f'password = "{word}"', f'"{word}"')),
    WORDS.map(lambda word: (f"https://{word}:x@host/{word}", word)),
    st.ip_addresses(v=4).map(lambda ip: (str(ip), str(ip))),
)


@settings(max_examples=150, deadline=None)
@given(
    PLANTED,
    st.sampled_from(["", "saved to ", "error: ", "(", "'", "x="]),
    st.sampled_from(["", " ok", ")", ",", "'"]),
)
def test_what_is_planted_never_comes_through(planted: tuple[str, str], before: str, after: str) -> None:
    text, secret = planted
    told = Redactor().text(f"{before}{text}{after}")
    assert secret not in told
    assert PLACEHOLDER.search(told)
    assert told.startswith(before[:1])
