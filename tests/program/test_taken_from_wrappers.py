"""Functions that take a network out of its wrapper."""

import ast

import pytest

from stethoscope.program.index import Function
from stethoscope.program.walk.taken_from_wrappers import taken_from
from stethoscope.program.walk.values import Constant, Delayed, FunctionValue, Site
from stethoscope.run import Source

GIVING_BACK = (
    'def bare(m):\n    return m.module if hasattr(m, "module") else m\n',
    'def bare(m):\n    return getattr(m, "module", m)\n',
    "def bare(m):\n    while isinstance(m, Wrapper):\n        m = m.module\n    return m\n",
    "def bare(m):\n    if isinstance(m, Wrapper):\n        return bare(m.module)\n    return m\n",
)
GIVING_ANOTHER = (
    "def bare(m):\n    return m.encoder\n",
    "def bare(m):\n    m = copy.deepcopy(m)\n    return m\n",
    "def bare(m):\n    for m in m.children():\n        pass\n    return m\n",
    "def bare(m):\n    print(m)\n",
    "@wrapped\ndef bare(m):\n    return m\n",
)


@pytest.mark.parametrize("text", GIVING_BACK)
def test_a_call_gives_back_its_argument(text: str) -> None:
    given = Constant(1)
    assert taken_from(called(text, given)) is given


@pytest.mark.parametrize("text", GIVING_ANOTHER)
def test_a_call_gives_something_else(text: str) -> None:
    assert taken_from(called(text, Constant(1))) is None


def called(text: str, given: Constant) -> Delayed:
    tree = ast.parse(text)
    source = Source("bare.py", "bare", text, tree)
    node = tree.body[0]
    assert isinstance(node, ast.FunctionDef)
    function = Function("bare", "bare.bare", node, source)
    return Delayed(FunctionValue(function), (given,), {}, Site(source, node))
