"""Following a program never runs it, never ends in a traceback, and ends in time."""

from __future__ import annotations

import sysconfig
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stethoscope.program import read_program
from stethoscope.program.evaluation.validation_path import validation_path
from stethoscope.program.index import index
from stethoscope.program.objective.loss_terms import loss_terms
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import Applied, Constant, Part
from tests.program.program_text import program_of

LIBRARY = Path(sysconfig.get_path("stdlib"))
STRANGE = {
    "a recursion": "def train(x):\n    loss = train(train(x))\n    loss.backward()\n",
    "two that call each other": "def a(x):\n    return b(x)\ndef b(x):\n    x.backward()\n    return a(x)\n",
    "a class that makes itself": "class A:\n    def __init__(self):\n        self.a = A()\n"
    "    def test(self):\n        self.a.a.a.loss.backward()\n",
    "a name that is itself": "x = x\ny = z\nz = y\ndef f():\n    (x + y).backward()\n",
    "a base that is itself": "class A(A):\n    def test(self):\n        self.loss.backward()\n",
    "an import of itself": "from code import x\nfrom code import *\ndef f():\n    x.backward()\n",
    "a list that holds itself": "def f():\n    a = []\n    a.append(a)\n    sum(a).backward()\n"
    "    for b in a:\n        b[0]()\n",
    "a long sum": f"def f(x):\n    loss = {' + '.join(['x'] * 400)}\n    loss.backward()\n",
    "many branches": "def f(x):\n    l = 0\n"
    + "".join(f"    if x[{i}]:\n        l = l + x\n    else:\n        l = l * x\n" for i in range(60))
    + "    l.backward()\n",
    "deep blocks": "def f(x):\n"
    + "".join("    " * i + "if x:\n" for i in range(1, 19))
    + "    " * 19
    + "x.backward()\n",
    "a huge power": "def f(x):\n    (x * 9 ** 9 ** 9).backward()\n    ('a' * 10 ** 12).lower()\n",
    "a long loop": "def f(x):\n    for i in range(10 ** 9):\n        for j in range(10 ** 9):\n"
    "            x = x + j\n    x.backward()\n",
    "stars": "def f(*a, **k):\n    f(*a, **k)\n    g = lambda *a, b=1, **c: a\n    g(*a, **k).backward()\n",
    "async": "async def test(m):\n    async with m as n:\n        async for x in n:\n"
    "            (await x).backward()\n",
    "matching": "def test(x):\n    match x:\n        case {'a': y}:\n            y.backward()\n"
    "        case [*_]:\n            pass\n",
}


@pytest.mark.parametrize("text", STRANGE.values(), ids=STRANGE)
def test_strange_programs_are_followed_to_an_end(tmp_path: Path, text: str) -> None:
    program = program_of(tmp_path, code=text)
    loss_terms(program)
    validation_path(program)


def test_nothing_is_executed(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    text = f"import pathlib\nMARK = pathlib.Path({str(mark)!r}).write_text('x')\n"
    text += "def validate(net, gt):\n    open('ran', 'w')\n    (net(gt) - gt).abs().mean().backward()\n"
    program = program_of(tmp_path, code=text)
    loss_terms(program)
    validation_path(program)
    assert not mark.exists()


@pytest.mark.parametrize("folder", ["json", "asyncio", "unittest", "email", "xml"])
def test_other_peoples_code_gives_no_finding(folder: str) -> None:
    program, _ = read_program(LIBRARY / folder, folder)
    assert not [term for term in loss_terms(program).terms if term.wrong]
    path = validation_path(program)
    assert path.shrinkings == ()
    assert path.followings == ()


EXPRESSIONS = st.recursive(
    st.sampled_from(
        ["x", "y", "self.net(x)", "1", "-2.5", "'a'", "None", "gt", "opt['w']", "F.l1_loss(x, gt)"]
    ),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/@"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        inner.map(lambda e: f"({e}).mean()"),
        inner.map(lambda e: f"f({e}, gt)"),
        inner.map(lambda e: f"[{e}, x][0]"),
        inner.map(lambda e: f"({e} if x else y)"),
        inner.map(lambda e: f"(lambda a: a * {e})(x)"),
        inner.map(lambda e: f"F.interpolate({e}, size=(8, 8))"),
        inner.map(lambda e: f"({e})[..., :4, ::2]"),
        inner.map(lambda e: f"{{'k': {e}}}['k']"),
        inner.map(lambda e: f"sum([{e} for i in range(3)])"),
    ),
    max_leaves=12,
)


@given(st.lists(EXPRESSIONS, min_size=1, max_size=4))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_arithmetic_is_followed(tmp_path_factory: pytest.TempPathFactory, expressions: list[str]) -> None:
    lines = [f"        self.v{i} = {text}" for i, text in enumerate(expressions)]
    body = "\n".join([*lines, "        (self.v0).backward()", "        metric(self.v0, gt)"])
    text = "import torch.nn.functional as F\n\n\ndef f(a, b):\n    return (a * b).sum()\n\n\n"
    text += f"class M:\n    def test(self, x, y, gt, opt):\n{body}\n"
    program = program_of(tmp_path_factory.mktemp("code"), code=text)
    loss_terms(program)
    validation_path(program)


def test_three_thousand_files_are_read_in_time(tmp_path: Path) -> None:
    text = "import torch\nfrom m{0:04d} import f\n\n\ndef f(x):\n    return f(x)\n\n\n"
    text += "class C(torch.nn.Module):\n    def forward(self, x):\n        return self.f(x)\n"
    for number in range(3_000):
        (tmp_path / f"m{number:04d}.py").write_text(text.format((number * 7) % 3_000))
    (tmp_path / "train.py").write_text("from m0001 import f\n\n\ndef train(n, x):\n    f(n(x)).backward()\n")
    begin = time.process_time()
    program, unread = read_program(tmp_path, "code")
    loss_terms(program)
    validation_path(program)
    assert (len(program.sources), unread) == (3_001, ())
    assert time.process_time() - begin < 30  # a few seconds on a free machine


SPREADING = """
from dataclasses import dataclass


@dataclass
class Plan:
    rate: float


def score(ids, labels=None, scale=2):
    return ids, labels, scale


def train(batch, model):
    return score(**batch), Plan(**batch).rate, model(**batch), dict(batch, extra=1)
"""


def test_an_unresolved_mapping_gives_what_is_asked_of_it(tmp_path: Path) -> None:
    names = index(program_of(tmp_path, a=SPREADING))
    run = Execution(names, SettingsTree(), tracing=True)
    parts = run.pieces(run.enter(names.functions_named("train")[0]), 4)
    scored, rate, called = run.pieces(parts[0], 3), parts[1], parts[2]
    assert [getattr(part, "key", None) for part in scored] == ["ids", "labels", None]
    assert isinstance(scored[2], Constant)
    assert isinstance(rate, Part)
    assert rate.key == "rate"
    assert isinstance(called, Applied)
    assert [getattr(value, "name", "") for value in called.keywords.values()] == ["batch"]


NESTED = """
class Inner:
    def __getitem__(self, index):
        return index + 1, "kind"


class Outer:
    def __init__(self):
        self.inner = Inner()

    def __getitem__(self, index):
        value, kind = self.inner[index]
        return value * 2, kind


def train(index):
    return Outer()[index]
"""


def test_an_item_of_an_object_is_what_its_class_gives(tmp_path: Path) -> None:
    names = index(program_of(tmp_path, a=NESTED))
    run = Execution(names, SettingsTree())
    doubled, kind = run.pieces(run.enter(names.functions_named("train")[0]), 2)
    assert isinstance(doubled, Applied)
    assert doubled.callee == "*"
    assert isinstance(kind, Constant)
    assert kind.value == "kind"
