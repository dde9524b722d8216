"""The calls that lead out of a repository."""

from __future__ import annotations

import ast
from textwrap import dedent

from stethoscope.program.settings.outside_calls import OutsideCall, outside_calls
from stethoscope.program.settings.parsed_classes import parsed_classes
from stethoscope.run import Program, Source


def program(**files: str) -> Program:
    texts = {name: dedent(text) for name, text in files.items()}
    return Program(".", tuple(Source(f"{n}.py", n, text, ast.parse(text)) for n, text in texts.items()))


def calls(text: str) -> list[OutsideCall]:
    return list(outside_calls(program(train=text)))


def names(text: str) -> list[str]:
    return [call.name for call in calls(text)]


def test_a_name_is_followed_through_aliases_and_modules() -> None:
    text = """
        import torch.optim as o
        from torch.optim import AdamW as Mine
        import torch
        o.SGD([], lr=1)
        Mine([], lr=1)
        torch.optim.lr_scheduler.StepLR(None, step_size=3)
    """
    assert names(text) == ["torch.optim.SGD", "torch.optim.AdamW", "torch.optim.lr_scheduler.StepLR"]


def test_a_parameter_or_variable_of_the_same_name_leads_nowhere() -> None:
    text = """
        from torch import optim
        from torch.optim import Adam

        def one(optim):
            return optim.SGD([], lr=1)

        def two():
            Adam = choose()
            return Adam([], lr=1)

        def three():
            from torch.optim import SGD
            return SGD([], lr=1)
    """
    assert names(text) == ["torch.optim.SGD"]


def test_a_partial_is_a_call_of_what_it_is_given() -> None:
    assert names("from functools import partial\nimport torch\npartial(torch.optim.SGD, lr=1)") == [
        "torch.optim.SGD"
    ]


def test_a_class_without_a_constructor_calls_that_of_its_base() -> None:
    text = """
        from dataclasses import dataclass
        from transformers import TrainingArguments, Trainer

        @dataclass
        class Mine(TrainingArguments):
            freeze: bool = False

        class Own(Trainer):
            def __init__(self, extra, **kwargs):
                super().__init__(**kwargs)

        Mine(freeze=True)
        Own(extra=1)
    """
    found = [call for call in calls(text) if call.node.lineno > 10]
    assert [(call.name, call.own) for call in found] == [
        ("transformers.TrainingArguments", frozenset({"freeze"}))
    ]


def test_a_method_is_known_by_the_call_that_made_its_object() -> None:
    text = """
        from ultralytics import YOLO
        model = YOLO("a.pt")
        model.train(epochs=3)
        YOLO("b.pt").train(epochs=3)
        for other in [1]:
            other.train(epochs=3)
    """
    assert names(text) == ["ultralytics.YOLO().train"] * 2


def test_a_call_whose_failure_is_caught_says_so() -> None:
    text = """
        import torch, sys
        try:
            torch.optim.SGD([], a=1)
        except TypeError:
            torch.optim.SGD([], b=1)
        try:
            torch.optim.SGD([], c=1)
        except KeyboardInterrupt:
            pass
        try:
            torch.optim.SGD([], d=1)
        except Exception:
            raise
        if torch.__version__ > "2":
            torch.optim.SGD([], e=1)
    """
    found = {next(call.keywords())[0]: (call.caught, call.for_some_versions) for call in calls(text)}
    assert found == {
        "a": (True, False),
        "b": (True, False),
        "c": (False, False),
        "d": (False, False),
        "e": (False, True),
    }


def test_settings_that_are_handed_over_whole_are_known_by_their_path() -> None:
    text = """
        import torch
        torch.optim.SGD([], lr=1, **cfg.train["optim"])
        torch.optim.SGD([], **vars(args))
        torch.optim.SGD([], **make())
        torch.optim.SGD([], **OmegaConf.to_container(cfg.optim))
    """
    assert [list(call.unpacked()) for call in calls(text)] == [[("train", "optim")], [()], [], [("optim",)]]


def test_a_parser_is_given_classes_from_both_sides() -> None:
    text = """
        from dataclasses import dataclass
        from transformers import HfArgumentParser, TrainingArguments

        @dataclass
        class Model:
            path: str

        @dataclass
        class Mine(TrainingArguments):
            freeze: bool = False

        HfArgumentParser((Model, Mine))
        HfArgumentParser((Model, unknown_here))
    """
    parsed = parsed_classes(program(train=text))
    assert [(one.own, one.outside) for one in parsed] == [
        (frozenset({"path", "freeze"}), ("transformers.TrainingArguments",))
    ]
