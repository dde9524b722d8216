"""Names that say nothing are told by what they hold.

`a, b, c, d = train_test_split(...)` has training data in `a`; what is stepped through under `no_grad` is held
out; what goes backward is a loss; what a loss gets second is a target. Where a name of its own says none of
this, it speaks for facts as if it did. Its spelling stays, and a name that says something is believed.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from stethoscope.program.likenesses import Told, words
from stethoscope.program.spelling.nodes import full_name, outside_names
from stethoscope.program.spelling.telling_names import tells
from stethoscope.program.syntax import FunctionNode, children

TRAIN, HELD = "train", "val"
WHOLE = "all"
LIBRARIES = (
    "torch",
    "sklearn",
    "lightning",
    "pytorch_lightning",
    "transformers",
    "accelerate",
    "numpy",
    "pandas",
)
# fmt: off
SAID_PARTS = {
    **dict.fromkeys(("train", "training", "trn"), TRAIN),
    **dict.fromkeys(("val", "valid", "validation", "dev"), HELD),
    **dict.fromkeys(("test", "testing"), "test"),
}
LOSSES = frozenset({
    "cross_entropy", "mse_loss", "l1_loss", "smooth_l1_loss", "nll_loss", "huber_loss", "kl_div",
    "binary_cross_entropy", "binary_cross_entropy_with_logits",
})
# What gives the same part of the data in another form.
CARRYING = frozenset({
    "tensor", "as_tensor", "from_numpy", "FloatTensor", "LongTensor", "asarray", "array", "transform",
    "fit_transform", "to", "float", "long", "astype", "to_numpy", "reset_index", "drop", "dropna", "fillna",
    "copy", "cuda", "reshape", "sort_values", "unsqueeze", "Subset", "prepare", "sample", "shuffle", "map",
    "select", "with_format", "tqdm", "enumerate", "list", "iter", "cycle", "type", "clone",
})
OPENING = frozenset({
    "load", "read_csv", "read_parquet", "read_json", "load_dataset", "load_from_disk", "open", "read_table",
    "read", "loadtxt",
})
NUMBERS = frozenset({
    "lr", "weight_decay", "batch_size", "momentum", "warmup_steps", "num_warmup_steps", "num_training_steps",
    "max_norm", "label_smoothing",
})
# fmt: on
STARTS = (0, 0.0, -1, -1.0, float("inf"), float("-inf"))
WITHOUT_GRADIENTS = frozenset({"no_grad", "inference_mode"})
_PARTS = frozenset({"tr", "trn", "tl", "te", "tst", "va", "vl", "ts", "vs", "holdout", "heldout", "unseen"})
ROUNDS = 4  # times that what is told is carried further


@dataclass(slots=True, eq=False)
class _Scope:
    """A function or the top of a file: what it binds, and what is told of that."""

    node: ast.AST
    outer: _Scope | None
    bound: set[str] = field(default_factory=set)
    parts: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    kinds: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    own: list[ast.AST] = field(default_factory=list)

    def home(self, name: str) -> _Scope | None:
        """The scope that binds a name."""
        scope: _Scope | None = self
        while scope is not None and name not in scope.bound:
            scope = scope.outer
        return scope

    def tell_part(self, name: str, part: str) -> None:
        """Say of which part of the data a name is."""
        home = self.home(name)
        if home is not None:
            home.parts[name].add(part)

    def tell_kind(self, name: str, kind: str) -> None:
        """Say what a name holds."""
        home = self.home(name)
        if home is not None:
            home.kinds[name].add(kind)

    def part(self, name: str) -> str:
        """The one part of the data that a name is known to be of: told, or said by itself."""
        home = self.home(name)
        said = {SAID_PARTS[word] for word in words(name) if word in SAID_PARTS}
        return _one_of(said or (home.parts.get(name, set()) if home is not None else set()))


def settle_told_names(tree: ast.Module) -> None:
    """Give the names that say nothing the words of what they hold."""
    imported = outside_names(tree)
    if not any(full.partition(".")[0] in LIBRARIES for full in imported.values()):
        return
    scopes = list(_scopes(tree, None))
    reader = _Reader(imported, {one.node.name: one for one in scopes if isinstance(one.node, FunctionNode)})
    for scope in scopes:
        reader.read(scope)
    reader.tell_measured()
    for _ in range(ROUNDS):
        for scope in scopes:
            reader.carry(scope)
    for scope in scopes:
        _name(scope)


def _scopes(node: ast.AST, outer: _Scope | None) -> Iterator[_Scope]:
    """The scopes of a file, each with its own nodes in order, the outer ones first."""
    scope = _Scope(node, outer)
    inside: list[ast.AST] = []
    if isinstance(node, FunctionNode):
        scope.bound.update(one.arg for one in _parameters(node))
    waiting: list[ast.AST] = list(getattr(node, "body", ()))[::-1]
    while waiting:
        current = waiting.pop()
        if isinstance(current, FunctionNode):
            inside.append(current)
            continue
        if isinstance(current, ast.ClassDef):  # its names are fields
            waiting += [one for one in current.body if isinstance(one, FunctionNode | ast.ClassDef)]
            continue
        scope.own.append(current)
        if isinstance(current, ast.Name) and isinstance(current.ctx, ast.Store):
            scope.bound.add(current.id)
        waiting += children(current)[::-1]
    yield scope
    for one in inside:
        yield from _scopes(one, scope)


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]


@dataclass(slots=True, eq=False)
class _Reader:
    """What the statements of a file tell of its names."""

    imported: dict[str, str]
    functions: dict[str, _Scope]
    given: dict[tuple[int, str], set[str]] = field(default_factory=dict)
    measured: list[tuple[_Scope, str]] = field(default_factory=list)
    is_training: bool = False

    def read(self, scope: _Scope) -> None:
        """Note what single statements tell."""
        decorators = getattr(scope.node, "decorator_list", ())
        if any(_last(one) in WITHOUT_GRADIENTS for one in decorators):
            self._measured(scope, scope.own)
        for node in scope.own:
            match node:
                case ast.Assign(targets=[target], value=value):
                    self._assigned(scope, target, value)
                case ast.For(target=target, iter=over):
                    self._split_in_rounds(scope, target, over)
                    self._gone_through(scope, node)
                    self._counted(scope, node)
                case ast.With(items=[ast.withitem(context_expr=ast.Call() as call)]):
                    if _last(call) in WITHOUT_GRADIENTS:
                        self._measured(scope, _below(node))
                case ast.Call():
                    self._called(scope, node)
                    self._note_given(node)
                case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                    self._answered(scope, left, right)
                case ast.If():
                    self._recorded(scope, node)

    def tell_measured(self) -> None:
        """What is measured without gradients is held out, in a file that trains on something else."""
        for scope, name in self.measured:
            scope.tell_kind(name, "loader")
            if self.is_training:
                scope.tell_part(name, HELD)

    def carry(self, scope: _Scope) -> None:
        """Hand on what is told by one name to the next: by assignments, and into and out of functions."""
        cuts: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
        for node in scope.own:
            match node:
                case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if len(
                    names
                ) == len(values):
                    for one, value in zip(names, values, strict=True):
                        self._handed_on(scope, one, value)
                        _note_cut(cuts, one, value)
                case ast.Assign(targets=[target], value=value):
                    self._handed_on(scope, target, value)
                    _note_cut(cuts, target, value)
                case ast.Call(func=ast.Name(id=called)) if called in self.functions:
                    self._into(scope, node, self.functions[called])

        for pieces in cuts.values():
            _tell_the_rest(scope, pieces)

    # Single statements

    def _assigned(self, scope: _Scope, target: ast.expr, value: ast.expr) -> None:
        names = [one.id if isinstance(one, ast.Name) else "" for one in getattr(target, "elts", [target])]
        call = value if isinstance(value, ast.Call) else None
        full = self._full(call)
        last = full.rpartition(".")[2] or _last(value)
        if isinstance(target, ast.Tuple):
            if last == "train_test_split" and call is not None:
                is_pair = len(call.args) == 2
                for place, name in enumerate(names):
                    scope.tell_part(name, (TRAIN, "test")[place % 2])
                    if is_pair and len(names) == 4:
                        scope.tell_kind(name, "xxyy"[place])
            elif last == "random_split" and len(names) in (2, 3):
                for name, part in zip(names, (TRAIN, HELD, "test"), strict=False):
                    scope.tell_part(name, part)
            elif last == "next" and call is not None and call.args and _last(call.args[0]) == "split":
                for name, part in zip(names, (TRAIN, HELD), strict=False):
                    scope.tell_part(name, part)
            return
        name = names[0]
        if not name or call is None:
            return
        if "torch.optim." in full and "lr_scheduler" not in full and last[:1].isupper():
            scope.tell_kind(name, "optimizer")
        elif "lr_scheduler." in full:
            scope.tell_kind(name, "scheduler")
        elif last in LOSSES and full.startswith("torch.nn"):
            scope.tell_kind(name, "loss")
        elif last == "DataLoader":
            scope.tell_kind(name, "loader")

    def _split_in_rounds(self, scope: _Scope, target: ast.expr, over: ast.expr) -> None:
        """`for a, b in folds.split(x):`, counted or not."""
        if isinstance(over, ast.Call) and _last(over) == "enumerate" and over.args:
            over = over.args[0]
            target = target.elts[-1] if isinstance(target, ast.Tuple) else target
        if isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and over.func.attr == "split":
            match target:
                case ast.Tuple(elts=[ast.Name(id=first), ast.Name(id=second)]) if over.args:
                    scope.tell_part(first, TRAIN)
                    scope.tell_part(second, HELD)

    def _gone_through(self, scope: _Scope, loop: ast.For) -> None:
        """Data whose batches go backward are of training."""
        name = _gone_over(loop)
        if name and self._trains(loop):
            self.is_training = True
            scope.tell_part(name, TRAIN)
            scope.tell_kind(name, "loader")

    def _counted(self, scope: _Scope, loop: ast.For) -> None:
        """`for a in range(b):` around a loop whose batches go backward counts epochs."""
        match loop.iter:
            case ast.Call(func=ast.Name(id="range"), args=[*_, last]) if isinstance(loop.target, ast.Name):
                inner = [one for one in _below(loop)[1:] if isinstance(one, ast.For)]
            case _:
                return
        trained = [one for one in inner if self._trains(one)]
        if trained and not any(_last(one.iter) == "range" for one in trained):
            scope.tell_kind(loop.target.id, "epoch")
            scope.tell_kind(last.id if isinstance(last, ast.Name) else "", "epochs")

    def _trains(self, loop: ast.For) -> bool:
        return any(_last(one) == "backward" for one in _below(loop) if isinstance(one, ast.Call))

    def _measured(self, scope: _Scope, nodes: Sequence[ast.AST]) -> None:
        """Data that a network in its mode for use is given without gradients are held out."""
        if not any(_last(one) == "eval" for one in scope.own if isinstance(one, ast.Call)):
            return
        for loop in nodes:
            name = _gone_over(loop) if isinstance(loop, ast.For) else ""
            if name:
                self.measured.append((scope, name))

    def _called(self, scope: _Scope, call: ast.Call) -> None:
        last = _last(call)
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="backward")):
                scope.tell_kind(name, "loss")
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Call(func=ast.Attribute(attr="scale"), args=[ast.Name(id=name)]),
                    attr="backward",
                )
            ):
                scope.tell_kind(name, "loss")
            case ast.Call(args=[ast.Name(id=name), *_]) if last in {"train_test_split", "random_split"}:
                scope.tell_part(name, WHOLE)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="parameters" | "eval" | "train")):
                scope.tell_kind(name, "model")
            case ast.Call(func=ast.Attribute(attr="fit"), args=[ast.Name(id=name)]) if self._is_scaler(call):
                scope.tell_part(name, TRAIN)
            case ast.Call(func=ast.Attribute(attr="fit_transform"), args=[given]):
                base = _base(given)
                if base:
                    scope.tell_part(base, TRAIN)
        if last in LOSSES and self._full(call).startswith("torch.nn") and len(call.args) > 1:
            name = call.args[1].id if isinstance(call.args[1], ast.Name) else ""
            scope.tell_kind(name, "target")
        for word in call.keywords:
            if word.arg in NUMBERS and isinstance(word.value, ast.Name):
                scope.tell_kind(word.value.id, word.arg)

    def _is_scaler(self, call: ast.Call) -> bool:
        """Whether something of scikit-learn that prepares data is fitted."""
        return any("sklearn.preprocessing" in full for full in self.imported.values()) and len(call.args) == 1

    def _answered(self, scope: _Scope, left: ast.expr, right: ast.expr) -> None:
        """`out.argmax(1) == a`: `a` is the answer."""
        for one, other in ((left, right), (right, left)):
            if isinstance(other, ast.Name) and isinstance(one, ast.Call) and _last(one) == "argmax":
                scope.tell_kind(other.id, "label")

    def _recorded(self, scope: _Scope, node: ast.If) -> None:
        """`if a > b: save(...)`, where `b` began at nothing or is renewed there: a record."""
        for test in [node.test, *getattr(node.test, "values", ())]:
            match test:
                case ast.Compare(left=ast.Name(id=one), ops=[ast.Gt() | ast.Lt() | ast.GtE() | ast.LtE()]):
                    other = test.comparators[0]
                case _:
                    continue
            for name, score in ((getattr(other, "id", ""), one), (one, getattr(other, "id", ""))):
                begins = name and _begins_at_nothing(scope, name) and _saves(node)
                if name and score and (begins or _is_renewed(node, name, score)):
                    scope.tell_kind(name, "best")
                    scope.tell_kind(score, "score")

    # What is handed on

    def _handed_on(self, scope: _Scope, target: ast.expr, value: ast.expr) -> None:
        if not isinstance(target, ast.Name):
            return
        part = self._part_of(scope, value)
        if part:
            scope.tell_part(target.id, part)

    def _part_of(self, scope: _Scope, value: ast.expr) -> str:
        """The part of the data that an expression holds in whatever form."""
        match value:
            case ast.Name(id=name):
                return scope.part(name)
            case ast.Subscript(value=held, slice=ast.Constant(value=str() as key)) if key in SAID_PARTS:
                return SAID_PARTS[key]
            case ast.Subscript(value=held) | ast.Attribute(value=held):
                return self._part_of(scope, held)
            case ast.Call():
                return self._part_of_call(scope, value)
        return ""

    def _part_of_call(self, scope: _Scope, call: ast.Call) -> str:
        last = _last(call)
        said = {
            SAID_PARTS[word]
            for one in (*call.args, *(each.value for each in call.keywords))
            for text in (one.value if isinstance(one, ast.Constant) else None,)
            if isinstance(text, str) and not text.startswith("-")
            for word in words(text.replace("/", " ").replace("-", " "))
            if word in SAID_PARTS
        }
        made_of_data = last[:1].isupper() or last in OPENING
        for each in call.keywords:
            if each.arg == "train" and isinstance(each.value, ast.Constant) and last[:1].isupper():
                said.add(TRAIN if each.value.value else "test")
        if said and made_of_data:
            return said.pop() if len(said) == 1 else ""
        if last in CARRYING or last in {"DataLoader", "TensorDataset"} or last.endswith(("Dataset", "Data")):
            held = [call.func.value] if isinstance(call.func, ast.Attribute) else []
            given = {self._part_of(scope, one) for one in (*held, *call.args)} - {""}
            return given.pop() if len(given) == 1 else ""
        return ""

    def _into(self, scope: _Scope, call: ast.Call, function: _Scope) -> None:
        """What a function does with its parameter tells of what it is given, and the other way round."""
        if not isinstance(function.node, FunctionNode):
            return
        for one, value in zip(_parameters(function.node), call.args, strict=False):
            if isinstance(value, ast.Name):
                self._out_of(scope, value.id, function, one.arg)
            part = self._part_of(scope, value)
            if part:
                function.tell_part(one.arg, part)

    def _note_given(self, call: ast.Call) -> None:
        """Keep what a function of the file is given for each parameter."""
        function = self.functions.get(call.func.id) if isinstance(call.func, ast.Name) else None
        if function is not None and isinstance(function.node, FunctionNode):
            for one, value in zip(_parameters(function.node), call.args, strict=False):
                self.given.setdefault((id(function), one.arg), set()).add(ast.unparse(value))

    def _out_of(self, scope: _Scope, name: str, function: _Scope, parameter: str) -> None:
        """A function that measures may be given training data as well, unless it is only ever given one."""
        kinds = function.kinds.get(parameter, set())
        given = self.given.get((id(function), parameter), set())
        for kind in kinds & {"loader", "model"}:
            scope.tell_kind(name, kind)
        for part in set(function.parts.get(parameter, ())) if "loader" in kinds else ():
            if part == TRAIN or len(given) == 1:
                scope.tell_part(name, part)

    def _full(self, call: ast.Call | None) -> str:
        return full_name(call.func, self.imported) if call is not None else ""


def _name(scope: _Scope) -> None:
    """Put what is told into the names."""
    told = {}
    for name in {*scope.parts, *scope.kinds}:
        spoken = tuple(_spoken(scope, name))
        if spoken and not tells(name) and _PARTS.isdisjoint(words(name)):
            told[name] = Told.of(name, spoken)
    if told:
        _put(scope.node, told)


def _spoken(scope: _Scope, name: str) -> Iterator[str]:
    kinds, parts = scope.kinds.get(name, set()), scope.parts.get(name, set())
    if len(kinds) == 1:
        yield from next(iter(kinds)).split("_")
    if _one_of(parts):
        yield _one_of(parts)


def _one_of(parts: set[str]) -> str:
    """The part that is told; what is both for choosing and for the end is held out."""
    if parts == {HELD, "test"}:
        return HELD
    return next(iter(parts)) if len(parts) == 1 and WHOLE not in parts else ""


def _put(node: ast.AST, told: dict[str, Told]) -> None:
    """Write told names into a scope and what stands inside it, where it does not bind them anew."""
    waiting: list[tuple[ast.AST, dict[str, Told]]] = [(one, told) for one in children(node)]
    while waiting:
        current, names = waiting.pop()
        if isinstance(current, ast.Name) and current.id in names:
            current.id = names[current.id]
        elif isinstance(current, ast.arg) and current.arg in names:
            current.arg = names[current.arg]
        elif isinstance(current, FunctionNode):
            hidden = {one.arg for one in _parameters(current)} | {
                one.id
                for one in _below(current)
                if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
            }
            names = {name: one for name, one in names.items() if name not in hidden}
        if names:
            waiting += [(one, names) for one in children(current)]


def _below(node: ast.AST) -> list[ast.AST]:
    found = [node]
    for one in found:
        found += children(one)
    return found


def _gone_over(loop: ast.For) -> str:
    """What a loop over batches of several goes through."""
    over, target = loop.iter, loop.target
    while isinstance(over, ast.Call) and _last(over) in {"tqdm", "enumerate", "iter"} and over.args:
        if _last(over) == "enumerate" and isinstance(target, ast.Tuple):
            target = target.elts[-1]
        over = over.args[0]
    return over.id if isinstance(over, ast.Name) and isinstance(target, ast.Tuple) else ""


def _last(node: ast.expr) -> str:
    """The bare name of what is called."""
    func = node.func if isinstance(node, ast.Call) else node
    return str(getattr(func, "attr", None) or getattr(func, "id", ""))


def _base(node: ast.expr) -> str:
    """The array that columns or rows are taken from: `a[columns].values`."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _note_cut(cuts: dict[str, list[tuple[str, str, str]]], target: ast.expr, value: ast.expr) -> None:
    """`a = rows[:n]`: the name, and from where to where."""
    match target, value:
        case (
            ast.Name(id=name),
            ast.Subscript(value=whole, slice=ast.Slice(lower=low, upper=high, step=None)),
        ):
            begin, end = ("" if one is None else ast.unparse(one) for one in (low, high))
            cuts[ast.unparse(whole)].append((name, begin, end))


def _tell_the_rest(scope: _Scope, pieces: Sequence[tuple[str, str, str]]) -> None:
    """What is left of data of which one piece is trained on is held out."""
    for name, low, high in pieces:
        for other, begin, end in pieces:
            meets = (high and high == begin and not low) or (end and end == low and not begin)
            if meets and scope.part(name) == TRAIN and not scope.part(other):
                scope.tell_part(other, HELD)


def _is_renewed(node: ast.If, name: str, score: str) -> bool:
    return any(
        isinstance(one, ast.Assign)
        and [getattr(target, "id", "") for target in one.targets] == [name]
        and isinstance(one.value, ast.Name)
        and one.value.id == score
        for one in node.body
    )


def _begins_at_nothing(scope: _Scope, name: str) -> bool:
    """Whether a name is given a first number that everything is better than."""
    for node in scope.own:
        match node:
            case ast.Assign(targets=[ast.Name(id=given)], value=value) if given == name:
                try:
                    return _number(value) in STARTS
                except ValueError:
                    return False
    return False


def _number(value: ast.expr) -> float | None:
    match value:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _number(operand)
            return -inner if inner is not None else None
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str() as text)]):
            return float(text)
        case ast.Attribute(attr="inf"):
            return float("inf")
    return None


def _saves(node: ast.If) -> bool:
    """Whether weights are kept where a condition holds, and no other record is renewed there."""
    if any(isinstance(one, ast.Assign) and isinstance(one.value, ast.Name) for one in node.body):
        return False
    return any(
        isinstance(one, ast.Call) and (_last(one).startswith("save") or _last(one) == "state_dict")
        for statement in node.body
        for one in _below(statement)
    )
