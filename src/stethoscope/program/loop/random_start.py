"""Whether the weights of a network are those that its layers were made with: nothing loads others.

Who fine-tunes says so somewhere: in a name, in a comment, in a setting, or by loading weights without the
optimizer's state. Only where the program has none of it is a part that does not learn a part left at random.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from stethoscope.program.index import Index
from stethoscope.program.likenesses import words
from stethoscope.program.loop.moves import receiver_role
from stethoscope.program.loop.parameter_owners import unwrapped
from stethoscope.program.loop.roles import Role
from stethoscope.program.loop.said_of_parts import is_said_of
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.builtin_calls import BUILTINS
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.events import Call, Event
from stethoscope.program.walk.values import Applied, Instance, Items, Leaf, Outside, Part, Value

# What is there to be used as it is, by what people call it.
KEPT = frozenset(
    {"vgg", "lpips", "clip", "vae", "perceptual", "target", "reference", "extractor", "inception", "dino"}
    | {"fixed", "momentum", "sobel", "gaussian", "blur", "kernel", "filter", "filters", "dct", "stft", "mel"}
)

# Words of programs that start from weights of another training, or leave weights as they are on purpose.
SPOKEN = re.compile(
    r"pre.?trained|fine.?tun|from_checkpoint|transfer.?learning|linear.?prob|\bprob(e|es|ing)\b|lora\b|adapter|"
    r"\bhub\b|torchvision\.models|\btimm\b|transformers|open_clip|diffusers|safetensors|load_weights|"
    r"freez|frozen|reservoir|random.?feature|random.?projection|extreme.?learning|echo.?state|"
    r"init_from|warm.?start|starting.?point|distil|teacher|initial_weights|init_weights_from",
    re.IGNORECASE,
)
# What transformers has for loops without any of its networks.
AIDS = re.compile(
    r"^from transformers[\w.]* import (?:\(\s*)?(?:(?:get_\w*schedul\w*|set_seed|SchedulerType)[\s,]*)+\)?$",
    re.MULTILINE,
)
WEIGHTS_TOLD = re.compile(r"\b(?:weights|pretrained)=(\w+)")
LOADING = frozenset(
    {"load_state_dict", "load_weights", "load_network", "load_file", "load_model", "load_from"}
)
# In the class of a network: it keeps or gets weights by a plan of its own.
KEEPING = re.compile(r"requires_grad|no_grad|detach|(?<!data)load|inference_mode|\.copy_\(|\.data( =|\[)")


def starts_at_random(loop: TrainingLoop, network: Instance, part: Value, name: str) -> bool:
    """Whether a part of a network has the weights that it was made with, and no plan for them."""
    index = loop.run.index
    inner = dict.fromkeys(
        one.cls for one in _layers(part) if isinstance(one, Instance) and one is not network
    )
    asked = "" if part is network else name
    is_kept = any(is_said_of(one.node, KEEPING, asked) for one in index.lineage(network.cls)) or any(
        is_said_of(above.node, KEEPING) for cls in inner for above in index.lineage(cls)
    )
    return not is_kept and has_random_weights(loop, network, part, name)


def has_random_weights(loop: TrainingLoop, network: Instance, part: Value, name: str) -> bool:
    """Whether nothing outside of a network's class may have given a part of it other weights."""
    index = loop.run.index
    if speaks_of_given_weights(index) or not _only_resumes(loop) or _is_given_by_hand(index, name):
        return False
    layers = _layers(part)
    if KEPT.intersection(words(name)) or any(_is_handed_on(loop, one) for one in (network, *layers)):
        return False
    if any(_is_evaluated(loop, layer) for layer in layers if layer is not network):
        return False
    return not any(map(_comes_from_outside, layers))


def _layers(part: Value) -> Sequence[Value]:
    """A part, or those of a list of layers."""
    return part.items if isinstance(part, Items) else (part,)


def _is_evaluated(loop: TrainingLoop, part: Value) -> bool:
    """Whether a part is put into evaluation for itself and left there, as one that is to stay what it is."""
    calls = (event for event in loop.trace.events if isinstance(event, Call) and event.receiver is part)
    names = {call.name for call in calls}
    return "eval" in names and "train" not in names


def _is_handed_on(loop: TrainingLoop, network: Value) -> bool:
    """Whether code that is not here gets a network, and may give it weights."""
    calls = (event for event in loop.trace.events if isinstance(event, Call) and _is_elsewhere(event))
    given = (value for call in calls for value in (*call.args, *call.keywords.values()))
    return any(part is network for value in given for part in unwrapped(value))


def _is_elsewhere(call: Call) -> bool:
    """Whether a call leads to what was not read; what torch and Python bring with them loads nothing."""
    called = call.callee if call.receiver is None else call.receiver
    if isinstance(called, Outside):
        return called.name.partition(".")[0] not in {"torch", "copy", "itertools", *BUILTINS}
    return call.receiver is None and isinstance(called, Leaf | Part)


@remembered
def speaks_of_given_weights(index: Index) -> bool:
    """Whether a program has any of the words of one that starts from weights of another training."""
    return any(SPOKEN.search(_without_aids(source.text)) for source in index.program if not is_test(source))


def _without_aids(text: str) -> str:
    """A source without what libraries of trained weights give beside them: schedules, and bare networks."""
    text = AIDS.sub("", text)
    told = WEIGHTS_TOLD.findall(text)
    return text.replace("torchvision.models", "") if told and set(told) == {"None"} else text


def _only_resumes(loop: TrainingLoop) -> bool:
    """Whether all that the walk loads is loaded by functions that load the state of an optimizer as well."""
    calls = [event for event in loop.trace.events if isinstance(event, Call) and event.name in LOADING]
    loads = [event for event in calls if not _is_followed(loop, event)]
    resuming = {_function(event) for event in loads if receiver_role(loop.run, event) is Role.OPTIMIZER}
    return all(_function(event) in resuming or _is_of_resumed(event, resuming) for event in loads)


def _is_followed(loop: TrainingLoop, call: Call) -> bool:
    """Whether a call leads into a method of the program, inside of which the loading is met."""
    holder = call.receiver
    return isinstance(holder, Instance) and loop.run.index.method(holder.cls, call.name) is not None


def _is_of_resumed(event: Event, resuming: set[int]) -> bool:
    """Whether a function that resumes calls the one that loads: `load_state_dict` of a class."""
    return any(id(one.node) in resuming for one in event.within)


def _function(event: Event) -> int:
    return id(event.within[-1].node) if event.within else 0


def _is_given_by_hand(index: Index, name: str) -> bool:
    """Whether a line loads or writes something into a part of this name, or puts it to rest for good."""
    written = re.compile(rf"\b{re.escape(name)}\b.*(load|copy_|\.data\s*[=\[]|weight\s*=[^=])")
    resting, waking = (re.compile(rf"\b{re.escape(name)}\.{mode}\(") for mode in ("eval", "train"))
    lines = [line for one in index.program for line in one.text.splitlines()]
    rests = any(map(resting.search, lines)) and not any(map(waking.search, lines))
    return rests or any(map(written.search, lines))


def _comes_from_outside(part: Value) -> bool:
    """Whether a layer was made by something that may bring weights along."""
    if isinstance(part, Applied):
        return not part.callee.startswith("torch.nn.")
    if not isinstance(part, Instance):
        return True
    made = (node for node in all_nodes(part.cls.node) if isinstance(node, ast.keyword))
    return any(keyword.arg in {"pretrained", "weights", "checkpoint"} for keyword in made)
