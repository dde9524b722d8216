"""Names that an executed file of settings brings in are taken from it, and from nothing else."""

import ast

import pytest

from stethoscope.program.spelling import settled


def written(text):
    return ast.unparse(settled(ast.parse(text)))


@pytest.mark.parametrize(
    "statement",
    [
        "exec(open(path).read())",
        "exec(Path(path).read_text())",
        "exec(compile(open(path).read(), path, 'exec'), globals())",
    ],
)
def test_a_name_that_nothing_else_gives_comes_from_the_executed_file(statement):
    text = written(f"path = 'train.py'\n{statement}\nuse(path, rate)\n")
    assert "settings = runpy.run_path(path)" in text
    assert "rate = settings['rate']" in text
    assert "path = settings" not in text


def test_the_file_may_be_opened_around_the_statement():
    assert "rate = settings['rate']" in written("with open(p) as f:\n    exec(f.read())\nuse(rate)\n")


def test_a_table_may_be_put_into_globals():
    loaded = "import yaml\n{}\nuse(rate)\n"
    for statement in (
        "globals().update(yaml.safe_load(open('c.yaml')))",
        "for k, v in yaml.safe_load(open('c.yaml')).items():\n    globals()[k] = v",
    ):
        text = written(loaded.format(statement))
        assert "settings = yaml.safe_load(open('c.yaml'))" in text
        assert "rate = settings['rate']" in text


def test_typed_options_are_taken_from_what_was_parsed():
    text = written("args = parser.parse_args()\nglobals().update(vars(args))\nuse(rate)\n")
    assert "rate = args.rate" in text


def test_names_of_functions_classes_and_comprehensions_are_their_own():
    text = written(
        "exec(open(p).read())\n"
        "def step(batch, scale=gain):\n    global count\n    count = 1\n    local = batch * width\n"
        "    return [one for one in local if (lambda x: x)(one)]\n"
        "class Net:\n    size = 3\n    def forward(self, x):\n        return x * depth\n"
        "try:\n    pass\nexcept OSError as problem:\n    print(problem)\n"
    )
    taken = {line.split(" = ")[0] for line in text.splitlines() if "= settings[" in line}
    assert taken == {"gain", "width", "depth", "p"}


def test_a_number_that_replaces_a_setting_leaves_what_it_replaces_to_be_seen():
    text = written("exec(open(path).read())\nrate = 6e-05\nuse(rate)\n")
    assert text.index("rate = settings['rate']") < text.index("rate = 6e-05")


def test_the_table_is_not_called_as_something_that_is_there():
    text = written("settings = 1\nexec(open(path).read())\nuse(rate, settings)\n")
    assert "rate = config['rate']" in text


def test_defaults_that_a_configurator_may_replace_stay_as_they_are():
    text = "rate = 0.1\nexec(open('configurator.py').read())\nuse(rate)\n"
    assert "rate = settings" not in written(text)


def test_a_file_that_executes_nothing_stays_as_it_is():
    assert "settings" not in written("use(rate)\nnet.load()\n")
