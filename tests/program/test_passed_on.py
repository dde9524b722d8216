"""Facts look through names that only pass a value on; people and their files do not."""

import ast

from stethoscope.program.spelling import settled
from stethoscope.program.spelling.passed_on import as_written


def tree_of(text):
    return settled(ast.parse(text))


def test_a_message_has_the_name_that_the_file_has():
    tree = tree_of("made = net(x)\nuse(made, y)\n")
    assert as_written("`use(net(x), y)` is odd", tree, (2, 2)) == "`use(made, y)` is odd"


def test_lines_elsewhere_keep_their_words():
    tree = tree_of("made = net(x)\nuse(made, y)\n\n\nshow(net(x))\n")
    assert as_written("`show(net(x))` is odd", tree, (5, 5)) == "`show(net(x))` is odd"


def test_what_is_another_each_time_is_not_written_twice():
    tree = tree_of("batch = next(stream)\nuse(batch)\n\nh = net(x)\nuse(h)\n")
    assert as_written("use(next(stream).float())", tree, (2, 2), only_once=True) == "use(batch.float())"
    assert as_written("use(net(x).float())", tree, (5, 5), only_once=True) == "use(net(x).float())"


def test_a_thousand_names_in_a_row_do_not_become_one_expression():
    steps = ["a0 = f(x)", *(f"a{i + 1} = f(a{i})" for i in range(2000)), "use(a2000)"]
    tree = tree_of("\n".join(steps) + "\n")
    assert len(tree.body) > 50
    assert ast.unparse(tree)
