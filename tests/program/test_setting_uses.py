"""What becomes of a setting: it acts, it is only told, or it goes where we cannot look."""

from __future__ import annotations

import argparse
import ast
from pathlib import Path

import pytest

from stethoscope.program.settings.option_schemas import matching, option_schemas
from stethoscope.program.settings.setting_uses import SettingUses, Use, setting_uses
from stethoscope.read import read
from stethoscope.run import Program, Source
from stethoscope.signals import unused_settings


def program(**files: str) -> Program:
    sources = tuple(
        Source(f"{name.replace('__', '/')}.py", name.replace("__", "."), text, ast.parse(text))
        for name, text in files.items()
    )
    return Program("repo", sources)


def uses(text: str, *names: str, **files: str) -> SettingUses:
    found = setting_uses(program(train=text, **files), frozenset(names))
    assert found is not None
    return found


def use(text: str, name: str = "clip", **files: str) -> Use:
    return uses(text, name, **files).of(name).use


@pytest.mark.parametrize(
    "line",
    [
        "print(args.clip)",
        "print(f'{args.clip:.1f}')",
        "logger.info('clip %s', args.clip)",
        "x = args.clip * 2\nprint(x)",
        "self.clip = args.clip",
        "assert args.clip > 0",
        "if args.clip < 0:\n    raise ValueError(args.clip)",
        "if args.clip:\n    print('on')\nelse:\n    print('off')",
        "d = {'clip': args.clip}\njson.dump(d, f)",
        "wandb.init(config={'clip': args.clip})",
        "torch.save({'args': {'clip': args.clip}}, 'a.pt')",
        "def told(a):\n    print(a)\ntold(args.clip)",
        "def told(a):\n    return a\nprint(told(args.clip))",
        "x, y = args.clip, 1\nprint(x)",
        "for k, v in vars(args).items():\n    print(k, v)",
        "d = {}\nd['clip'] = args.clip\nprint(d)",
        "class A:\n    def __init__(self, o):\n        self.o = o\n        print(self.o.clip)\nA(args)",
        "del args.clip",
        "args.clip = 3",
    ],
)
def test_telling_is_not_using(line: str) -> None:
    assert use(f"import json, torch, wandb\nargs = parser.parse_args()\n{line}\n") is Use.UNUSED


@pytest.mark.parametrize(
    "line",
    [
        "clip_grad_norm_(params, args.clip)",
        "x = args.clip\nf(x)",
        "x = getattr(args, 'clip', None)\nf(x)",
        "x = vars(args)['clip']\nf(x)",
        "x = args.get('clip')\nf(max=x)",
        "y = float(args.clip or 1)\nf(y)",
        "if args.clip:\n    f()",
        "while step < args.clip:\n    step += 1",
        "for _ in range(args.clip):\n    f()",
        "group['max'] = args.clip",
        "optimizer.max_norm = args.clip",
        "f(**{'max': args.clip})",
        "kwargs = {}\nkwargs['m'] = args.clip\nf(**kwargs)",
        "kwargs = dict(m=args.clip)\nf(**kwargs)",
        "def inner(a):\n    f(a)\ninner(args.clip)",
        "def made():\n    return args.clip\nf(made())",
        "class A:\n    def __init__(self, c):\n        self.c = c\n    def go(self): f(self.c)\nA(args.clip)",
        "class A(Base):\n    def __init__(self, c):\n        super().__init__(c)\nA(args.clip)",
        "x = {'a': 1}[args.clip]",
        "h = lambda v: v * args.clip",
        "with scope(args.clip):\n    pass",
        "def g(a=args.clip):\n    pass",
        "scheduler.step(args.clip)\ndef step(a):\n    print(a)",
        "y = [args.clip for _ in range(3)]\nf(y)",
    ],
)
def test_acting_is_using(line: str) -> None:
    assert use(f"args = parser.parse_args()\n{line}\n") is Use.USED


@pytest.mark.parametrize(
    "line",
    [
        "f(args)",
        "f(**vars(args))",
        "f(getattr(args, name))",
        "f(args[key])",
        "for k in args:\n    setattr(model, k, args[k])",
        "registry.get(args.kind)(args)",
        "print(args.other)\nfor key in ('clip',):\n    f(key)",
        "OmegaConf.select(args, 'train.clip')",
    ],
)
def test_what_goes_where_we_cannot_look_is_not_called_unused(line: str) -> None:
    text = f"args = parser.parse_args()\nf(args.kind)\n{line}\n"
    assert uses(text, "clip", "kind").of("clip").use is Use.ESCAPED


@pytest.mark.parametrize(
    "lines",
    [
        "for item in typed:\n    k, v = item.split('=')\n    cfg[k] = type(cfg[k])(v)",
        "for k, v in typed:\n    setattr(cfg, k, type(getattr(cfg, k))(v))",
        "for k, v in typed:\n    cfg[k] = yaml.safe_load(v) if not isinstance(cfg[k], str) else v",
        "for k, v in typed:\n    old = cfg[k]\n    cfg[k] = int(v) if isinstance(old, int) else v",
        "node = cfg\nfor name in names:\n    node = node[name]\nnode[last] = yaml.safe_load(v)",
        "cfg = SimpleNamespace(**cfg)\nstate = torch.load(p)\nfor k, o in parts:\n    o.load(state[k])",
    ],
)
def test_parts_that_are_changed_under_typed_names_stay_what_they_are(lines: str) -> None:
    text = f"cfg = yaml.safe_load(f)\n{lines}\ng(cfg.kind)\n"
    assert uses(text, "clip", "kind").of("clip").use is Use.UNUSED
    assert uses(f"{text}g(cfg.clip)\n", "clip", "kind").of("clip").use is Use.USED


def test_a_dict_of_our_own_holds_what_it_is_made_of() -> None:
    text = (
        "class Dotted(dict):\n    __getattr__ = dict.__getitem__\n"
        "def dotted(d):\n    made = {k: dotted(v) if isinstance(v, dict) else v for k, v in d.items()}\n"
        "    return Dotted(made)\n"
        "cfg = dotted(yaml.safe_load(f))\ng(cfg.kind)\n"
    )
    assert uses(text, "clip", "kind").of("clip").use is Use.UNUSED
    assert uses(f"{text}g(cfg.clip)\n", "clip", "kind").of("clip").use is Use.USED
    assert uses(f"{text}g(cfg)\n", "clip", "kind").of("clip").use is Use.ESCAPED


def test_a_parameter_is_followed_into_another_file() -> None:
    text = "from helper import build\nargs = parser.parse_args()\nbuild(args.clip)\n"
    assert use(text, helper="def build(limit):\n    print(limit)\n") is Use.UNUSED
    assert use(text, helper="def build(limit):\n    clip_(limit)\n") is Use.USED


def test_a_section_is_followed_by_its_own_name() -> None:
    text = "cfg = yaml.safe_load(f)\nt = cfg['train']\n{}\n"
    for line, expected in [("g(t)", Use.ESCAPED), ("print(t)", Use.UNUSED), ("g(t['clip'])", Use.USED)]:
        found = uses(text.format(line), "train", "clip")
        assert found.of("clip", ["train"]).use is expected


PARSED = "args = parser.parse_args()\nparser.add_argument('--clip', default=1.0)\n"
CLICK = "import click\n@click.command()\n@click.option('--clip', default=1)\n"


def use_of_option(text: str, name: str = "clip") -> Use:
    found = uses(text)
    return found.of_option(next(option for option in found.options if option.name == name)).use


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        # A layer or a group of the same name is not the setting.
        ("class Net:\n    def go(self, x):\n        return f(self.clip)\n", Use.UNUSED),
        ("for group in o.param_groups:\n    f(group['clip'])\n", Use.UNUSED),
        (
            "class A:\n    def __init__(self, c):\n        self.clip = c\n        f(self.clip)\nA(args.clip)",
            Use.USED,
        ),
        ("def run(lr, clip):\n    f(clip)\nrun(**vars(args))", Use.USED),
        ("def run(lr, clip):\n    f(lr)\nrun(**vars(args))", Use.UNUSED),
        ("def run(**rest):\n    f(rest['clip'])\nrun(**vars(args))", Use.USED),
        ("def run(**rest):\n    f(**rest)\nrun(**vars(args))", Use.ESCAPED),
        ("def run():\n    clip = args.clip\n    f(locals())", Use.USED),
        ("def run(a):\n    f(a.clip)\nrun(args)", Use.USED),
        ("for name in ('lr', 'decay'):\n    f(args[name])", Use.UNUSED),
    ],
)
def test_a_flag_is_followed_in_the_object_that_holds_it(lines: str, expected: Use) -> None:
    assert use_of_option(f"{PARSED}{lines}\n") is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("b = B()\nparser.parse_args(namespace=b)\nparser.add_argument('--clip')\nf(b.clip)", Use.USED),
        (
            "def main():\n    global A\n    parser.add_argument('--clip')\n    A = parser.parse_args()\n"
            "def go():\n    f(A.clip)",
            Use.USED,
        ),
        (f"{CLICK}def main(clip):\n    f(clip)", Use.USED),
        (f"{CLICK}def main(clip):\n    print(clip)", Use.UNUSED),
        (f"{CLICK}def main(ctx, clip):\n    f(**ctx.params)", Use.ESCAPED),
        ("import typer\ndef main(clip: float = 1.0):\n    print(clip)\ntyper.run(main)", Use.UNUSED),
        ("import fire\ndef main(clip=1.0):\n    f(clip)\nfire.Fire(main)", Use.USED),
        ("c = flags.DEFINE_float('clip', 1.0, 'x')\nf(c.value)", Use.USED),
        ("c = flags.DEFINE_float('clip', 1.0, 'x')\nprint(c.value)", Use.UNUSED),
    ],
)
def test_options_are_known_however_they_are_declared(text: str, expected: Use) -> None:
    assert use_of_option(f"{text}\n") is expected


CLASSES = """
from dataclasses import dataclass
@dataclass
class Inner:
    clip: float = 1.0
@dataclass
class Args:
    inner: Inner
    seed: int = 0
"""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a = tyro.cli(Args)\nf(a.inner.clip)", Use.USED),
        ("a = tyro.cli(Args)\nf(a.seed)", Use.UNUSED),
        ("a = tyro.cli(Args)\nf(a.inner)", Use.ESCAPED),
        ("(a,) = HfArgumentParser((Args,)).parse_args_into_dataclasses()\nf(a.seed)", Use.UNUSED),
        (
            "a, t = HfArgumentParser((Args, Other)).parse_args_into_dataclasses()\nf(t)\nprint(a.inner)",
            Use.UNUSED,
        ),
    ],
)
def test_sections_of_parsed_classes_are_options(line: str, expected: Use) -> None:
    assert use_of_option(CLASSES + line + "\n") is expected


def test_a_launcher_and_its_option_are_one_setting(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("N=16\npython train.py --grad-accum $N --lr 0.1\n", encoding="utf-8")
    (tmp_path / "train.py").write_text(
        "import argparse\nimport torch\np = argparse.ArgumentParser()\n"
        "p.add_argument('--grad-accum', type=int)\n"
        "p.add_argument('--lr', type=float)\na = p.parse_args()\nnet = torch.nn.Linear(1, 1)\n"
        "o = torch.optim.SGD(net.parameters(), lr=a.lr)\nnet(torch.ones(1)).backward()\no.step()\n",
        encoding="utf-8",
    )
    unused = unused_settings.measure(read(tmp_path))
    assert isinstance(unused, unused_settings.UnusedSettings)
    (found,) = unused.settings
    assert (found.name, found.value) == ("grad_accum", 16)
    assert [(Path(place.file).name, place.line) for place in found.where] == [("run.sh", 1), ("train.py", 4)]


def test_mentions_are_listed() -> None:
    usage = uses("args = parser.parse_args()\nprint(args.clip)\n\nprint(args.clip)\n", "clip").of("clip")
    assert [place.line for place in usage.mentions] == [2, 4]


def test_the_schema_that_knows_most_keys_is_chosen() -> None:
    text = (
        "from dataclasses import dataclass\n"
        "@dataclass\nclass Model:\n    dim: int\n    depth: int\n"
        "@dataclass\nclass Train:\n    lr: float\n    steps: int\n    model: 'Model | None' = None\n"
        "    models: list[Model] = ()\n"
    )
    schemas = option_schemas(program(train=text))
    found = matching(schemas, {"lr", "steps", "typo"})
    assert found is not None
    assert (found.title, set(found.below), set(found.each)) == ("Train", {"model"}, {"models"})
    assert matching(schemas, {"a", "b", "lr"}) is None


def test_it_survives_real_programs() -> None:
    library = sorted(Path(argparse.__file__).parent.glob("[ab]*.py"))
    for path in library:
        text = path.read_text(encoding="utf-8", errors="replace")
        found = setting_uses(program(module=text), frozenset({"name", "prog"}))
        assert found is not None
        for name in ("name", "prog", "default", "self", "args"):
            found.of(name, ["config", "options"])
            found.of_constant(name)
        option_schemas(program(module=text))


WARM = "def rate(i, warmup_steps):\n    return i / warmup_steps\n"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("LambdaLR(opt, partial(rate, **cfg['sched']))", Use.USED),
        ("LambdaLR(opt, lambda i: rate(i, **cfg['sched']))", Use.USED),
        (
            "s = {'sched_' + k: v for k, v in cfg['sched'].items()}\nmake(s['sched_warmup_steps'])",
            Use.ESCAPED,
        ),
        ("s = {}\nfor k, v in cfg['sched'].items():\n    s[k.upper()] = v\nmake(s['X'])", Use.ESCAPED),
        ("s = {k: v for k, v in cfg['sched'].items()}\nprint(s['warmup_steps'])", Use.UNUSED),
        ("print(partial(idle, **cfg['sched']))", Use.UNUSED),
    ],
)
def test_a_section_that_is_spread_or_renamed(line: str, expected: Use) -> None:
    text = (
        f"import yaml\nfrom functools import partial\n{WARM}\n"
        f"def idle(warmup_steps):\n    return 1\ncfg = yaml.safe_load(open('c.yaml'))\n{line}\n"
    )
    assert uses(text, "warmup_steps", "sched").of("warmup_steps", ("sched",)).use is expected
