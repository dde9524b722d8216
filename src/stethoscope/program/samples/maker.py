"""The interpreter that makes samples: pictures are invented, and what is not known is carried along."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from stethoscope.program.experiments.attributes import attribute
from stethoscope.program.experiments.interpreter import Interpreter
from stethoscope.program.experiments.operators import binary
from stethoscope.program.experiments.running import Frame
from stethoscope.program.experiments.things import Foreign, Method, Object, Spot
from stethoscope.program.index import Class, Index
from stethoscope.program.samples import transforms
from stethoscope.program.samples.anything import (
    Anything,
    Circumstances,
    any_unknown,
    guessed,
    joined,
    role_of,
)
from stethoscope.program.samples.luck import DRAWING, FAMILIES, MAKERS, SILENT, Luck
from stethoscope.program.samples.photos import (
    BLENDING,
    NEAREST,
    PLAIN_NUMPY,
    Photo,
    cropped,
    gray,
    interpolation,
    mirrored,
    opencv_color,
    opencv_flip,
    resized,
    turned,
)
from stethoscope.program.walk.bounded_arrays import CannotCompute

Array = np.ndarray[Any, Any]
READERS = frozenset({"open", "imread", "read_image", "decode_image", "default_loader", "pil_loader"})
_KINDS = {"float": np.float64, "double": np.float64, "long": np.int64, "int": np.int64, "byte": np.uint8,
          "bool": np.bool_, "half": np.float64}  # fmt: skip
_UNREAD = 97  # files, where they are counted


class Maker(Interpreter):
    """Makes the samples of one data set; `pictures` gives what a file of a role holds."""

    def __init__(
        self, index: Index, about: Circumstances, luck: Luck, pictures: Callable[[str, bool], Array]
    ) -> None:
        super().__init__(index)
        self.about = about
        self.luck = luck
        self.pictures = pictures
        self.roles: Sequence[str] = ()  # of what is read, one after the other; told by words where not known
        self.reads: list[str] = []  # the roles of what was read
        self.read_as: list[frozenset[str]] = []  # the words that it goes by
        self.resizes: list[Spot] = []  # that mix neighbouring places
        self.unmixed: set[ast.AST] = set()  # resizes that are to take the nearest place instead
        # Whether what moves places in an unknown way leaves a picture as it is, and failures are passed over:
        # then places mean nothing, and the range of its numbers still does.
        self.is_loose = False

    # Objects of which little is known

    def data_set(self, cls: Class, given: Mapping[str, Any]) -> Object:
        """An object of a data set's class; what its making leaves unknown is guessed by its name."""
        made = Object(cls)
        init = self.index.method(cls, "__init__")
        if init is None:
            return made
        names: dict[str, Any] = {"self": made, init.parameters[0]: made}
        spec = init.node.args
        positional = [*spec.posonlyargs, *spec.args]
        defaults = dict(zip([a.arg for a in reversed(positional)], reversed(spec.defaults), strict=False))
        defaults |= {
            a.arg: d for a, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d is not None
        }
        home = self.index.module_of(cls.source)
        frame = Frame(home, names, {}, init.owner if isinstance(init.owner, Class) else cls)
        for arg in (*positional[1:], *spec.kwonlyargs):
            names[arg.arg] = given[arg.arg] if arg.arg in given else self._assumed(arg.arg, defaults, frame)
        for extra in (spec.vararg, spec.kwarg):
            if extra is not None:
                names[extra.arg] = {} if extra is spec.kwarg else ()
        self._as_far_as_known(init.node.body, frame)
        return made

    def _assumed(self, name: str, defaults: Mapping[str, ast.expr], frame: Frame) -> Any:
        default: Any = None
        if name in defaults:
            try:
                default = self.value(defaults[name], frame)
            except CannotCompute:
                return Anything().part(name)
        found = guessed(name, default, self.about)
        if found is None and (name not in defaults or "transform" not in name):
            return Anything().part(name) if name not in defaults else None
        return found

    def _as_far_as_known(self, body: Sequence[ast.stmt], frame: Frame) -> None:
        """Follow statements one by one; what one of them cannot compute is not known afterwards."""
        for statement in body:
            try:
                self._statement(statement, frame)
            except CannotCompute:
                self._forget(statement, frame)
            except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
                self._forget(statement, frame)

    def _forget(self, statement: ast.stmt, frame: Frame) -> None:
        if isinstance(statement, ast.If | ast.With | ast.For):
            self._as_far_as_known(statement.body if not isinstance(statement, ast.For) else [], frame)
        for node in ast.walk(statement):
            targets = node.targets if isinstance(node, ast.Assign) else []
            for target in (*targets, *([node.target] if isinstance(node, ast.AnnAssign | ast.For) else [])):
                for one in ast.walk(target):
                    if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
                        frame.names[one.id] = Anything().part(one.id)
                    elif isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store):
                        self._name_unknown(one, frame)

    def _name_unknown(self, target: ast.Attribute, frame: Frame) -> None:
        holder = frame.names.get(target.value.id) if isinstance(target.value, ast.Name) else None
        if isinstance(holder, Object):
            holder.attributes[target.attr] = Anything().part(target.attr)

    # Statements and expressions

    def _block(self, body: Sequence[ast.stmt], frame: Frame) -> None:
        if self.is_loose:
            self._as_far_as_known(body, frame)
        else:
            super()._block(body, frame)

    def _statement(self, node: ast.stmt, frame: Frame) -> None:
        match node:
            case ast.With(items=items, body=body):
                for item in items:
                    held = self.value(item.context_expr, frame)
                    if item.optional_vars is not None:
                        self._assign(item.optional_vars, held, frame)
                self._block(body, frame)
            case ast.Try(body=body, orelse=orelse):
                self._block([*body, *orelse], frame)
            case ast.Raise():
                raise CannotCompute("a failure")
            case _:
                super()._statement(node, frame)

    def _assign(self, target: ast.expr, value: Any, frame: Frame) -> None:
        if isinstance(value, Anything) and isinstance(target, ast.Tuple | ast.List):
            for one in target.elts:
                self._assign(one, value, frame)
        elif isinstance(value, Anything) and isinstance(target, ast.Name):
            frame.names[target.id] = value.part(target.id)
        elif isinstance(value, Anything) and isinstance(target, ast.Attribute):
            super()._assign(target, value.part(target.attr), frame)
        else:
            super()._assign(target, value, frame)

    def value(self, node: ast.expr, frame: Frame) -> Any:
        match node:
            case ast.Attribute(value=base, attr=name):
                return self._attribute(self.value(base, frame), name)
            case ast.Subscript(value=base, slice=key):
                return self._part(self.value(base, frame), self.value(key, frame))
            case ast.BinOp(left=left, op=op, right=right):
                sides = self.value(left, frame), self.value(right, frame)
                if any_unknown(sides):
                    return joined(*sides)
                return binary(self, op, *sides, Spot(frame.module.source, node))
            case ast.Tuple(elts=elements) if self.is_loose:
                return tuple(self._if_known(one, frame) for one in elements)
            case ast.Dict(keys=keys, values=values) if self.is_loose and None not in keys:
                return {
                    ast.unparse(k): self._if_known(v, frame) for k, v in zip(keys, values, strict=True) if k
                }
            case ast.JoinedStr(values=values):
                parts = [self.value(one, frame) for one in values]
                return joined(*parts) if any_unknown(parts) else "".join(map(str, parts))
        return super().value(node, frame)

    def _if_known(self, node: ast.expr, frame: Frame) -> Any:
        try:
            return self.value(node, frame)
        except (CannotCompute, ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
            return Anything()

    def _attribute(self, base: Any, name: str) -> Any:
        if isinstance(base, Anything):
            found = guessed(name, None, self.about)
            return base.part(name) if found is None else found
        if isinstance(base, Photo):
            known = {"size": base.size, "width": base.size[0], "height": base.size[1],
                     "mode": "RGB" if base.array.ndim == 3 else "L"}  # fmt: skip
            return known[name] if name in known else Method(base, name)
        if isinstance(base, np.ndarray) and name == "dtype":
            return Foreign(f"numpy.{base.dtype.name}")
        if isinstance(base, Object):
            try:
                return attribute(self, base, name)
            except CannotCompute:
                found = guessed(name, None, self.about)
                return Anything().part(name) if found is None else found
        return attribute(self, base, name)

    def _part(self, base: Any, key: Any) -> Any:
        if isinstance(base, Anything):
            found = guessed(key, None, self.about) if isinstance(key, str) else None
            return base.part(key) if found is None else found
        if isinstance(base, Photo):
            raise CannotCompute("an item of a picture of PIL")
        if any_unknown((key,)):
            return joined(key)
        return self._item(base, key)

    def elements(self, value: Any) -> list[Any]:
        if isinstance(value, Anything):
            raise CannotCompute("a loop over what is not known")
        return super().elements(value)

    def truth(self, value: Any) -> bool:
        if isinstance(value, Anything):
            raise CannotCompute("a decision by something unknown")
        return True if isinstance(value, Photo | transforms.Transform) else super().truth(value)

    def _compared(self, node: ast.Compare, frame: Frame) -> Any:
        sides = [self.value(one, frame) for one in (node.left, *node.comparators)]
        if any(isinstance(one, Anything | Photo | transforms.Transform) for one in sides):
            if isinstance(node.ops[0], ast.Is | ast.IsNot) and not isinstance(sides[0], Anything):
                return isinstance(node.ops[0], ast.IsNot)
            raise CannotCompute("a decision by something unknown")
        held = dict(zip((f"<side {place}>" for place in range(len(sides))), sides, strict=True))
        names = [ast.Name(name, ast.Load()) for name in held]
        plain = ast.Compare(names[0], node.ops, list[ast.expr](names[1:]))
        return super()._compared(plain, Frame(frame.module, held, {}, frame.owner))

    # Calls

    def call(
        self, callee: Any, args: Sequence[Any], keywords: Mapping[str, Any], spot: Spot | None = None
    ) -> Any:
        match callee:
            case Anything():
                return joined(callee, *args)
            case transforms.Transform():
                return transforms.applied(self, callee, args[0], spot)
            case Method(of=Photo() as of, name=name):
                return self._of_photo(of, name, list(args), dict(keywords), spot)
            case Method(of=np.ndarray() as of, name=name):
                return self._of_array(callee, of, name, list(args), dict(keywords), spot)
            case Method(of=str() as of) if any_unknown(args):
                return joined(of, *args)
            case Foreign(name=name):
                return self._of_library(callee, name, list(args), dict(keywords), spot)
        return super().call(callee, args, keywords, spot)

    def _of_photo(
        self, x: Photo, name: str, args: list[Any], keywords: dict[str, Any], spot: Spot | None
    ) -> Any:
        if any_unknown(args):
            return Anything()
        given = [*args, *keywords.values()]
        match name:
            case "convert":
                return Photo(_in_mode(x.array, str(given[0]) if given else "RGB"), True)
            case "resize":
                width, height = given[0]
                told = _name_of(keywords.get("resample", args[1] if len(args) > 1 else ""))
                is_of_palette = not told and x.array.ndim == 2 and not x.converted
                how = NEAREST if is_of_palette else told
                return Photo(self.resized(x.array, height, width, how, BLENDING, False, spot), x.converted)
            case "crop":
                left, top, right, bottom = (int(n) for n in given[0])
                return Photo(cropped(x.array, top, left, bottom - top, right - left, False), x.converted)
            case "transpose":
                return Photo(_transposed(x.array, _name_of(given[0])), x.converted)
            case "rotate" if isinstance(given[0], int | float) and given[0] % 90 == 0 and len(given) == 1:
                return Photo(turned(x.array, int(given[0] // 90), False), x.converted)
            case "copy" | "load" | "filter" | "close" | "verify":
                return x
        raise CannotCompute(name)

    def _of_array(
        self,
        callee: Method,
        x: Array,
        name: str,
        args: list[Any],
        keywords: dict[str, Any],
        spot: Spot | None,
    ) -> Any:
        if any_unknown(args):
            return Anything()
        if name in _KINDS:
            return x.astype(_KINDS[name])
        if name in {"astype", "to", "type"}:
            kinds = [_kind(one) for one in (*args, *keywords.values())]
            kind = next((one for one in kinds if one is not None), None)
            return x if kind is None else x.astype(kind)
        if name in {"copy", "clone"}:
            return x.copy()
        if name == "transpose":
            axes = args[0] if len(args) == 1 else args
            return x.T if not args else np.swapaxes(x, *args) if len(args) == 2 else np.transpose(x, axes)
        return super().call(callee, args, keywords, spot)

    def _of_library(
        self, callee: Foreign, name: str, args: list[Any], keywords: dict[str, Any], spot: Spot | None
    ) -> Any:
        last = name.rpartition(".")[2]
        if last in READERS and (any_unknown(args) or last == "imread"):
            return self._read(name, args, keywords)
        if last in MAKERS and "rand" in name.lower():
            return Foreign("random")
        if last in SILENT:
            return None
        if last in DRAWING and name.startswith(FAMILIES):
            if any_unknown((*args, *keywords.values())):
                return Anything()
            return self.luck.drawn(name, args, keywords)
        if name.startswith(transforms.HOME):
            return self._of_transforms(name, args, keywords, spot)
        if name == "len" and any_unknown(args):
            return _UNREAD
        if self.is_loose and args and isinstance(args[0], np.ndarray | Photo) and _may_only_move(name):
            return args[0]
        if any_unknown((*args, *keywords.values())):
            return joined(*args, *keywords.values())
        found = self._of_arrays(name, last, args, keywords, spot)
        if found is not None:
            return found
        if name.startswith(("os.", "glob.", "pathlib.", "json.", "pandas.", "csv.", "PIL.", "cv2.", "open")):
            return joined(*args)
        return super().call(callee, args, keywords, spot)

    def _of_transforms(self, name: str, args: list[Any], keywords: dict[str, Any], spot: Spot | None) -> Any:
        if name.endswith("Crop.get_params"):
            if "Resized" in name or any_unknown(args):
                raise CannotCompute(name)
            return transforms.crop_parameters(self, args, keywords)
        made = transforms.made(name, args, keywords)
        if made is not None:
            return made
        return transforms.function(self, name.rpartition(".")[2], args, keywords, spot)

    def _of_arrays(
        self, name: str, last: str, args: list[Any], keywords: dict[str, Any], spot: Spot | None
    ) -> Any:
        """Functions of numpy, OpenCV, PIL and torch on whole pictures; None for others."""
        if name in {"numpy.array", "numpy.asarray", "numpy.asanyarray"} or last in {
            "from_numpy", "as_tensor", "tensor", "fromarray", "pil_to_tensor",
        }:  # fmt: skip
            return _as_array(last, args[0], keywords.get("dtype", args[1] if len(args) > 1 else None))
        if name.startswith("cv2."):
            return self._of_opencv(last, args, keywords, spot)
        if name.startswith("PIL.ImageOps."):
            return self._of_pil(last, args[0])
        if last == "interpolate" and name.startswith("torch."):
            return self._interpolated(args, keywords, spot)
        if name.startswith("numpy.") and name.count(".") == 1 and last in PLAIN_NUMPY:
            keywords = {k: _kind(v) if k == "dtype" else v for k, v in keywords.items()}
            return self.check(PLAIN_NUMPY[last](*args, **keywords))
        return None

    def _of_pil(self, last: str, x: Photo) -> Any:
        if last in {"mirror", "flip"}:
            return Photo(mirrored(x.array, "h" if last == "mirror" else "v", False), x.converted)
        if last in {"exif_transpose", "autocontrast", "equalize"}:
            return x
        raise CannotCompute(last)

    def _of_opencv(self, last: str, args: list[Any], keywords: dict[str, Any], spot: Spot | None) -> Any:
        x = args[0]
        match last:
            case "cvtColor":
                return opencv_color(x, _name_of(args[1]))
            case "flip":
                return opencv_flip(x, int(args[1]))
            case "resize":
                width, height = args[1]
                told = _name_of(keywords.get("interpolation", args[2] if len(args) > 2 else ""))
                return self.resized(x, int(height), int(width), told, BLENDING, False, spot)
            case "GaussianBlur" | "blur" | "medianBlur":
                return x
            case "rotate":
                turns = {"ROTATE_90_CLOCKWISE": -1, "ROTATE_180": 2, "ROTATE_90_COUNTERCLOCKWISE": 1}
                return turned(x, turns[_name_of(args[1]).rpartition(".")[2]], False)
            case "copyMakeBorder":
                top, bottom, left, right = (int(n) for n in args[1:5])
                value = keywords.get("value", args[6] if len(args) > 6 else 0)
                fill = value[0] if isinstance(value, list | tuple) else value
                pads = [(top, bottom), (left, right), (0, 0)][: x.ndim]
                return np.pad(x, pads, constant_values=fill or 0)
        raise CannotCompute(last)

    def _interpolated(self, args: list[Any], keywords: dict[str, Any], spot: Spot | None) -> Any:
        x = args[0]
        size = keywords.get("size", args[1] if len(args) > 1 else None)
        if size is None:
            factor = keywords.get("scale_factor", args[2] if len(args) > 2 else 1)
            size = (int(x.shape[-2] * factor), int(x.shape[-1] * factor))
        height, width = size if isinstance(size, list | tuple) else (size, size)
        return self.resized(x, height, width, str(keywords.get("mode", "nearest")), NEAREST, True, spot)

    def _read(self, name: str, args: list[Any], keywords: dict[str, Any]) -> Any:
        """What a file holds that a sample is made of."""
        if name in {"open", "gzip.open", "io.open"}:
            return joined(*args)
        known, place = joined(*args).words, len(self.reads)
        role = self.roles[place] if place < len(self.roles) else role_of(known)
        self.reads.append(role)
        self.read_as.append(known)
        told = _name_of(keywords.get("flags", keywords.get("mode", args[1] if len(args) > 1 else "")))
        is_gray = any(word in told for word in ("GRAY", "UNCHANGED")) or told in {"0", "-1"}
        is_opencv = name.startswith("cv2.")
        array = self.pictures(role, is_opencv and not is_gray)
        if is_opencv:
            return array[..., ::-1] if array.ndim == 3 else array
        if name.startswith("torchvision.io"):
            return array.transpose(2, 0, 1) if array.ndim == 3 else array[None]
        if name.startswith(("PIL.", "torchvision.datasets")):
            return Photo(array)
        return array

    def resized(
        self, x: Array, height: int, width: int, told: str, default: str, first: bool, spot: Spot | None
    ) -> Array:
        """A picture in another size, and a note of where places were mixed."""
        how = interpolation(told, default)
        if how == BLENDING and spot is not None:
            self.resizes.append(spot)
            how = NEAREST if spot.node in self.unmixed else how
        return resized(x, int(height), int(width), how, first)


def _may_only_move(name: str) -> bool:
    """Whether a function of a library moves what is in a picture, and leaves its numbers in their range."""
    return name.startswith(("cv2.", "scipy.ndimage.", "skimage.transform.")) and "norm" not in name.lower()


def _name_of(told: Any) -> str:
    return told.name if isinstance(told, Foreign) else str(told)


def _in_mode(x: Array, mode: str) -> Array:
    if mode in {"L", "1", "P", "I", "F"}:
        return gray(x)
    return np.stack([x] * 3, -1) if x.ndim == 2 else x


def _transposed(x: Array, method: str) -> Array:
    last = method.rpartition(".")[2]
    kinds = {"FLIP_LEFT_RIGHT": "h", "0": "h", "FLIP_TOP_BOTTOM": "v", "1": "v"}
    if last in kinds:
        return mirrored(x, kinds[last], False)
    turns = {"ROTATE_90": 1, "ROTATE_180": 2, "ROTATE_270": 3, "2": 1, "3": 2, "4": 3}
    if last in turns:
        return turned(x, turns[last], False)
    raise CannotCompute(last)


def _kind(told: Any) -> Any:
    """The type of numbers that is asked for, None where it is another thing."""
    last = _name_of(told).rpartition(".")[2].strip("'")
    if last in {"float32", "float64", "float16", "float", "double", "single"}:
        return np.float64
    if last in {"int64", "int32", "int16", "long", "int"}:
        return np.int64
    return {"uint8": np.uint8, "bool": np.bool_, "bool_": np.bool_}.get(last)


def _as_array(last: str, x: Any, kind: Any) -> Any:
    if last == "fromarray":
        return Photo(x, True)
    array = x.array if isinstance(x, Photo) else x
    if last == "pil_to_tensor":
        return array[None] if array.ndim == 2 else array.transpose(2, 0, 1)
    made = np.array(array)
    if made.dtype == object:
        raise CannotCompute("an array of other things")
    wanted = _kind(kind) if kind is not None else None
    return made if wanted is None else made.astype(wanted)
