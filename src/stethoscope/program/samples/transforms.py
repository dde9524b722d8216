"""The transforms and functions of torchvision that are computed on pictures; others are not known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stethoscope.program.experiments.things import Foreign, Spot
from stethoscope.program.samples.anything import Anything, any_unknown
from stethoscope.program.samples.photos import BLENDING, NEAREST, Photo, cropped, gray, mirrored, turned
from stethoscope.program.walk.bounded_arrays import CannotCompute

if TYPE_CHECKING:
    from stethoscope.program.samples.maker import Maker

HOME = "torchvision.transforms."
# What changes colours, or nothing that is asked for here.
COLOURING = frozenset({
    "ColorJitter", "GaussianBlur", "RandomGrayscale", "RandomAutocontrast", "RandomEqualize",
    "RandomPosterize", "RandomSolarize", "RandomAdjustSharpness", "ToImage", "Identity", "ClampBoundingBoxes",
    "adjust_brightness", "adjust_contrast", "adjust_gamma", "adjust_hue", "adjust_saturation",
    "adjust_sharpness", "autocontrast", "equalize", "posterize", "solarize", "gaussian_blur", "invert",
    "to_pil_image", "ToPILImage", "pil_to_image",
})  # fmt: skip


@dataclass(frozen=True, eq=False, slots=True)
class Transform:
    """A transform of torchvision that was made, with its arguments."""

    kind: str
    args: tuple[Any, ...]
    keywords: Mapping[str, Any]


def made(name: str, args: list[Any], keywords: dict[str, Any]) -> Transform | None:
    """`T.Resize(256)`."""
    last = name.rpartition(".")[2]
    is_class = name.startswith(HOME) and last[:1].isupper() and ".functional." not in name
    return (
        Transform(last, tuple(args), dict(keywords))
        if is_class and last not in {"InterpolationMode"}
        else None
    )


def applied(run: Maker, one: Any, x: Any, spot: Spot | None) -> Any:
    """What a transform makes of a picture."""
    if isinstance(x, Anything):
        return x
    if not isinstance(one, Transform):
        return run.call(one, (x,), {}, spot)
    match one.kind:
        case "Compose":
            for step in one.args[0] if one.args else one.keywords["transforms"]:
                x = applied(run, step, x, spot)
            return x
        case "RandomApply" | "RandomChoice":
            steps = one.args[0] if one.args else one.keywords["transforms"]
            if all(isinstance(step, Transform) and step.kind in COLOURING for step in steps):
                return x
            raise CannotCompute(one.kind)
        case "RandomHorizontalFlip" | "RandomVerticalFlip":
            chance = one.keywords.get("p", one.args[0] if one.args else 0.5)
            kind = "hflip" if "Horizontal" in one.kind else "vflip"
            return function(run, kind, [x], {}, spot) if run.luck.share() < chance else x
        case "RandomCrop" | "RandomResizedCrop":
            size = one.args[0] if one.args else one.keywords["size"]
            if one.kind == "RandomCrop" and len(one.args) < 2 and not one.keywords.keys() - {"size"}:
                height, width = _pair(size)
                top, left = (
                    run.luck.whole(0, max(1, n - m + 1))
                    for n, m in zip(_sides(x), (height, width), strict=True)
                )
                return function(run, "crop", [x, top, left, height, width], {}, spot)
            raise CannotCompute(one.kind)
        case "ToTensor" | "Resize" | "CenterCrop" | "Normalize" | "Grayscale" | "PILToTensor" | "Pad":
            named = {"ToTensor": "to_tensor", "CenterCrop": "center_crop", "Grayscale": "to_grayscale",
                     "PILToTensor": "pil_to_tensor"}.get(one.kind, one.kind.lower())  # fmt: skip
            return function(run, named, [x, *one.args], dict(one.keywords), spot)
        case "ToDtype" | "ConvertImageDtype":
            is_scaled = one.kind == "ConvertImageDtype" or one.keywords.get("scale")
            return function(run, "to_dtype", [x], {"scale": is_scaled}, spot)
        case "Lambda":
            return run.call(one.args[0], (x,), {}, spot)
        case kind if kind in COLOURING:
            return x
    raise CannotCompute(one.kind)


def function(run: Maker, last: str, args: list[Any], keywords: dict[str, Any], spot: Spot | None) -> Any:
    """`TF.crop(image, top, left, height, width)`."""
    x, *rest = args
    if any_unknown((x, *rest)):
        return Anything()
    if last in COLOURING:
        return x
    match last:
        case "hflip" | "horizontal_flip" | "vflip" | "vertical_flip":
            return _each(x, lambda a, first: mirrored(a, last[0], first))
        case "crop":
            top, left, height, width = (int(n) for n in rest)
            return _each(x, lambda a, first: cropped(a, top, left, height, width, first))
        case "center_crop":
            height, width = _pair(rest[0] if rest else keywords["output_size"])
            rows, columns = _sides(x)
            top, left = (rows - height) // 2, (columns - width) // 2
            return _each(x, lambda a, first: cropped(a, top, left, height, width, first))
        case "resize":
            return _resized(run, x, rest, keywords, spot)
        case "to_tensor" | "pil_to_tensor" | "to_image":
            return _as_tensor(x, last == "to_tensor")
        case "to_dtype":
            x = _as_tensor(x, False)
            return x / 255.0 if keywords.get("scale") and x.dtype.kind in "iu" else x.astype(np.float64)
        case "normalize" | "pad":
            return _changed(x, last, rest, keywords)
        case "to_grayscale":
            return Photo(gray(x.array), True) if isinstance(x, Photo) else x.mean(0, keepdims=True)
        case "rotate":
            quarters = rest[0] / 90 if isinstance(rest[0], int | float) else 0.5
            if quarters == int(quarters):
                return _each(x, lambda a, first: turned(a, int(quarters), first))
        case "get_dimensions" | "get_image_size":
            rows, columns = _sides(x)
            return [3, rows, columns] if last == "get_dimensions" else [columns, rows]
    raise CannotCompute(last)


def crop_parameters(run: Maker, args: list[Any], keywords: dict[str, Any]) -> tuple[int, int, int, int]:
    """`RandomCrop.get_params(image, output_size)`."""
    given = [*args, *keywords.values()]
    height, width = _pair(given[1])
    rows, columns = _sides(given[0])
    return run.luck.whole(0, rows - height + 1), run.luck.whole(0, columns - width + 1), height, width


def _each(x: Any, change: Any) -> Any:
    if isinstance(x, Photo):
        return Photo(change(x.array, False), x.converted)
    if isinstance(x, np.ndarray):
        return change(x, True)
    raise CannotCompute("no picture")


def _sides(x: Any) -> tuple[int, int]:
    if isinstance(x, Photo):
        return x.array.shape[0], x.array.shape[1]
    return x.shape[-2], x.shape[-1]


def _pair(size: Any) -> tuple[int, int]:
    if isinstance(size, list | tuple):
        return (int(size[0]), int(size[-1]))
    return int(size), int(size)


def _resized(run: Maker, x: Any, rest: list[Any], keywords: dict[str, Any], spot: Spot | None) -> Any:
    size = rest[0] if rest else keywords["size"]
    rows, columns = _sides(x)
    height, width = _pair(size)
    if not isinstance(size, list | tuple) or len(size) == 1:  # the shorter side
        height, width = (
            (height, round(columns * height / rows))
            if rows < columns
            else (round(rows * height / columns), height)
        )
    told = keywords.get("interpolation", rest[1] if len(rest) > 1 else "")
    name = told.name if isinstance(told, Foreign) else str(told)
    if isinstance(x, Photo):
        is_of_palette = not name and x.array.ndim == 2 and not x.converted
        how = NEAREST if is_of_palette else name
        return Photo(run.resized(x.array, height, width, how, BLENDING, False, spot), x.converted)
    return run.resized(x, height, width, name, BLENDING, True, spot)


def _as_tensor(x: Any, is_scaled: bool) -> Any:
    array = x.array if isinstance(x, Photo) else x
    if not isinstance(array, np.ndarray):
        raise CannotCompute("no picture")
    if isinstance(x, Photo) or (is_scaled and array.ndim == 3 and array.shape[2] in {1, 3}):
        array = array[None] if array.ndim == 2 else array.transpose(2, 0, 1)
    return array / 255.0 if is_scaled and array.dtype == np.uint8 else array


def _changed(x: Any, last: str, rest: list[Any], keywords: dict[str, Any]) -> Any:
    if not isinstance(x, np.ndarray) or last == "pad":
        raise CannotCompute(last)
    mean = rest[0] if rest else keywords["mean"]
    std = rest[1] if len(rest) > 1 else keywords["std"]
    shape = (-1, 1, 1)
    return (x - np.reshape(np.asarray(mean, float), shape)) / np.reshape(np.asarray(std, float), shape)
