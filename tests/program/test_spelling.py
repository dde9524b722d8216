"""Facts see one spelling where a program may have several."""

import ast

import pytest

from stethoscope.program.spelling import settled


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ('import torch\no = getattr(torch.optim, "Adam")(w)', "import torch\no = torch.optim.Adam(w)"),
        ('o = getattr(settings, "rate")', 'o = getattr(settings, "rate")'),
        (
            "from functools import partial\no = partial(Adam, lr=0.1)(w)",
            "from functools import partial\no = Adam(w, lr=0.1)",
        ),
        (
            "from functools import partial\nmake = partial(Adam, lr=0.1, eps=1)\no = make(w, lr=0.2)",
            "from functools import partial\nmake = partial(Adam, lr=0.1, eps=1)\no = Adam(w, lr=0.2, eps=1)",
        ),
        ("one, two = f(x), g(x)", "one = f(x)\ntwo = g(x)"),
        ("one, two = f(two), g(one)", "one, two = (f(two), g(one))"),
        ("low, high = rows[:n], rows[n:]", "low, high = (rows[:n], rows[n:])"),
        (
            "for x in xs:\n    if not x:\n        continue\n    show(x)",
            "for x in xs:\n    if x:\n        show(x)",
        ),
        (
            "for x in xs:\n    if x == 0:\n        continue\n    loss(x).backward()",
            "for x in xs:\n    if x == 0:\n        continue\n    loss(x).backward()",
        ),
    ],
)
def test_what_is_seen_of_what_is_written(written, seen):
    assert ast.unparse(settled(ast.parse(written))) == ast.unparse(ast.parse(seen))
