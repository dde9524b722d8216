"""`stethoscope replay BLACKBOX --build module:function`: repeat a bad step offline."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from stethoscope.errors import StethoscopeError

FINITE, REPEATED = 0, 1
SCHEMA = 1


@click.command(
    "replay",
    short_help="Repeat a bad step from its black box.",
    epilog="\b\nExamples:\n"
    "  stethoscope replay examples/overflow/blackbox-step000002 --build examples/overflow/net.py:build\n"
    "  stethoscope replay examples/overflow/blackbox-step000002 --build examples/overflow/net.py:build"
    " --half bfloat16",
)
@click.argument("blackbox", type=click.Path())
@click.option(
    "--build",
    required=True,
    metavar="MODULE:FUNCTION",
    help="The function that builds the model. It is your code, and it is executed.",
)
@click.option(
    "--half",
    type=click.Choice(["float16", "bfloat16", "none"]),
    help="The precision to autocast to instead of the recorded one.",
)
@click.option("--device", default="cpu", show_default=True, help="The device to repeat the step on.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Text for people, JSON (schema 1) for programs.",
)
def command(blackbox: str, build: str, half: str | None, device: str, format_: str) -> int:
    """Repeat the step recorded in BLACKBOX, a folder that Guard wrote, and say where it goes wrong.

    MODULE:FUNCTION is imported from the working directory; FILE.py:FUNCTION names a file. This executes your
    code. The function takes nothing and returns the model, or (model, loss), or (model, loss, optimizer);
    loss(output, batch) is given what the model gives and what the data loader gave. The forward pass is
    repeated as it was and in float32; with a loss the backward pass is, too, and with an optimizer its step.

    The black box itself holds numbers and text, and nothing in it is executed.

    Exit status: 0 the step is finite this time; 1 the fault was repeated; 2 it could not be repeated.
    """
    from stethoscope.cli._paths import must_exist
    from stethoscope.cli._patience import patience
    from stethoscope.cli._stdout import prepare, put
    from stethoscope.report.clean_text import one_line

    must_exist(blackbox)
    _must_have_torch()
    # What the person's own code prints is no part of the report.
    with patience(f"replaying {one_line(blackbox, 60)}"), redirect_stdout(sys.stderr):
        told = _replayed(blackbox, build, half, device)
    written = _rendered(told, format_)
    prepare("utf-8" if format_ == "json" else None)
    put(written)
    return REPEATED if told["repeated"] else FINITE


def _must_have_torch() -> None:
    for package in ("torch", "safetensors"):
        if find_spec(package) is None:
            raise StethoscopeError(
                f"replay needs {package}, which is not installed: pip install 'stethoscope[torch]'."
            )


def _replayed(blackbox: str, build: str, half: str | None, device: str) -> dict[str, Any]:
    from stethoscope.guard.boxes.replaying import read_for, replay

    function = _function(build)
    box = read_for(device, blackbox)
    return {"box": blackbox, **replay(box, function, half=half, device=device).facts()}


def _rendered(told: dict[str, Any], format_: str) -> str:
    import json

    from stethoscope.report import replay_text
    from stethoscope.report.plain_json import plain
    from stethoscope.report.terminal import console

    if format_ == "json":
        return json.dumps(plain({"schema": SCHEMA, **told}), ensure_ascii=False, indent=2) + "\n"
    return replay_text.render(told, console())


def _function(build: str) -> Callable[[], Any]:
    where, colon, name = build.rpartition(":")
    if not colon or not where or not name.isidentifier():
        raise StethoscopeError(f"--build {build} is no module:function, such as train:build or net.py:build.")
    try:
        module = _file(Path(where)) if where.endswith(".py") else _module(where)
    except Exception as problem:
        reason = f"{type(problem).__name__}: {problem}".rstrip(".")
        raise StethoscopeError(f"--build {build}: {where} could not be imported: {reason}.") from problem
    found = getattr(module, name, None)
    if not callable(found):
        raise StethoscopeError(f"--build {build}: {where} has no function {name}.")
    function: Callable[[], Any] = found
    return function


def _module(name: str) -> ModuleType:
    sys.path.insert(0, os.getcwd())
    return import_module(name)


def _file(path: Path) -> ModuleType:
    """A file as a module; what lies beside it can be imported by it."""
    spec = spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    sys.path.insert(0, str(path.resolve().parent))
    module = module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
