"""Names that say nothing speak of what they hold; others are believed, and all stay as they are spelt."""

import ast

from stethoscope.program.likenesses import words
from stethoscope.program.spelling import settled

SPLIT = """\
import torch
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

a, b, c, d = train_test_split(X, Y)
q = DataLoader(TensorDataset(a, c))
w = DataLoader(TensorDataset(b, d))
"""
TRAINING = """\
import torch
import torch.nn.functional as F


def one(m, z):
    m.eval()
    with torch.no_grad():
        for i, j in z:
            m(i)


def go(m, u, w):
    k = 0.0
    for e in range(3):
        for i, j in u:
            v = F.mse_loss(m(i), j)
            v.backward()
        s = one(m, w)
        if s > k:
            torch.save(m.state_dict(), "m.pt")
"""


def told(text):
    """What the names of a text speak of after it was settled."""
    names = [node.id for node in ast.walk(settled(ast.parse(text))) if isinstance(node, ast.Name)]
    return {str(name): words(name) for name in names}


def test_a_split_tells_which_part_is_trained_on():
    found = told(SPLIT)
    assert [found[name] for name in "abcd"] == [
        ("x", "train"),
        ("x", "test"),
        ("y", "train"),
        ("y", "test"),
    ]
    assert (found["q"], found["w"]) == (("loader", "train"), ("loader", "test"))


def test_a_loop_tells_what_it_goes_through():
    found = told(TRAINING)
    assert found["u"] == ("loader", "train")
    assert found["w"] == found["z"] == ("loader", "val")
    assert (found["v"], found["k"], found["m"]) == (("loss",), ("best",), ("model",))


def test_a_name_that_says_something_is_believed():
    found = told(SPLIT.replace("a, b,", "test_rows, train_rows,"))
    assert found["test_rows"] == ("test", "rows")
    assert found["train_rows"] == ("train", "rows")


def test_what_is_split_later_is_of_no_part():
    found = told("from sklearn.model_selection import train_test_split\nx = s.fit_transform(x)\n" + SPLIT)
    text = SPLIT.replace("a, b, c, d", "X = s.fit_transform(X)\na, b, c, d")
    assert told(text)["X"] == ("x",)
    assert found["a"] == ("x", "train")


def test_what_is_seen_in_two_ways_is_of_no_part():
    found = told(TRAINING.replace("one(m, w)", "one(m, u)"))
    assert found["u"] == ("loader",)


def test_a_told_name_is_the_name():
    tree = settled(ast.parse(TRAINING))
    assert ast.unparse(tree).count("v.backward()") == 1
    assert {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} >= {"u", "w", "k"}
