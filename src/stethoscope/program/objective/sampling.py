"""What samplers take a network's output for: the noise, the clean data, or a velocity."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.loop.roles import MODEL_WORDS
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site
from stethoscope.run import Source


class Meaning(StrEnum):
    """What a network's output stands for."""

    NOISE = "the noise"
    CLEAN = "the clean data"
    VELOCITY = "a velocity"


# fmt: off
SAMPLING_WORDS = frozenset({
    "sample", "sampling", "sampler", "samples", "generate", "generation", "ddim", "ddpm", "reverse",
    "denoise", "synthesize", "synthesise", "infer", "inference",
})
NOISE_WORDS = frozenset({"eps", "epsilon", "noise"})
CLEAN_WORDS = frozenset({"x0", "start", "xstart", "clean", "denoised"})
VELOCITY_WORDS = frozenset({"velocity", "vel", "v"})
SHORT_NOISE_WORDS = frozenset({"e", "et"})
NETWORK_WORDS = MODEL_WORDS | {"denoiser", "unet", "dit", "eps"}
# What a scheduler of diffusers takes the output for, by its option `prediction_type`.
PREDICTION_TYPES = {
    "epsilon": Meaning.NOISE, "sample": Meaning.CLEAN, "v_prediction": Meaning.VELOCITY,
}
EPSILON_SCHEDULERS = frozenset({
    "DDPMScheduler", "DDIMScheduler", "PNDMScheduler", "DPMSolverMultistepScheduler",
    "EulerDiscreteScheduler", "EulerAncestralDiscreteScheduler", "LMSDiscreteScheduler",
    "UniPCMultistepScheduler", "DEISMultistepScheduler",
})
# fmt: on
INPUTS = 2  # a denoiser gets the sample and its noise level


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A place that takes a network's output for something."""

    meaning: Meaning
    site: Site


@remembered
def readings(index: Index) -> tuple[Reading, ...]:
    """Every assignment of a network's output in a function that samples, by the name it gets."""
    functions = (function for function in index.functions if not is_test(function.source))
    written = [reading for function in functions for reading in _in_function(function)]
    schedulers = [
        reading
        for module in index.modules.values()
        if "diffusers" in module.source.text and not is_test(module.source)
        for reading in _in_schedulers(module.source)
    ]
    return (*written, *schedulers)


def _in_function(function: Function) -> Iterator[Reading]:
    if not SAMPLING_WORDS.intersection(words(function.name)):
        return
    for node in own_nodes(function.node):
        if isinstance(node, ast.Assign) and is_network_call(node.value):
            meaning = named_meaning(node.targets[0])
            if meaning is not None:
                yield Reading(meaning, Site(function.source, node))


def is_network_call(node: ast.expr) -> bool:
    """`model(x, t)`, `self.unet(x, t).sample`, `net(x, t).chunk(2)`."""
    while isinstance(node, ast.Attribute) or (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Call)
    ):
        inner = node.func if isinstance(node, ast.Call) else node
        assert isinstance(inner, ast.Attribute)
        node = inner.value
    if not isinstance(node, ast.Call) or len(node.args) + len(node.keywords) < INPUTS:
        return False
    name = (dotted(node.func) or "").rpartition(".")[2]
    return name == "self" or bool(NETWORK_WORDS.intersection(words(name)))


def named_meaning(target: ast.expr) -> Meaning | None:
    """What the names of an assignment's target say of what they get."""
    names = [node.id for node in all_nodes(target, ast.Name)]
    spoken = {word for name in names for word in words(name)}
    if "x" in spoken and "0" in spoken:
        spoken.add("x0")
    noise = NOISE_WORDS | SHORT_NOISE_WORDS
    kinds = {Meaning.NOISE: noise, Meaning.CLEAN: CLEAN_WORDS, Meaning.VELOCITY: VELOCITY_WORDS}
    found = [meaning for meaning, kind in kinds.items() if spoken & kind]
    return found[0] if len(found) == 1 else None


def _in_schedulers(source: Source) -> Iterator[Reading]:
    for node in all_nodes(source.tree):
        if not (
            isinstance(node, ast.Call) and (dotted(node.func) or "").rpartition(".")[2] in EPSILON_SCHEDULERS
        ):
            continue
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        kind = given.get("prediction_type", ast.Constant("epsilon"))
        known = kind.value if isinstance(kind, ast.Constant) else None
        if None not in given and isinstance(known, str) and known in PREDICTION_TYPES:
            yield Reading(PREDICTION_TYPES[known], Site(source, node))
