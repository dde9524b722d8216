"""Calls that change the size of a picture, and how: by a factor, to a fixed size, smoothly."""

from __future__ import annotations

from stethoscope.program.walk.values import Applied, Constant, Items, Value

RESIZE_CALLS = frozenset(
    {
        "torch.nn.functional.interpolate",
        "torch.nn.functional.upsample",
        "torchvision.transforms.functional.resize",
        "torchvision.transforms.v2.functional.resize",
        "torchvision.transforms.functional_tensor.resize",
        "cv2.resize",
        "cv2.pyrDown",
        "skimage.transform.resize",
        "skimage.transform.rescale",
        "skimage.transform.downscale_local_mean",
        "scipy.ndimage.zoom",
        "scipy.misc.imresize",
        "kornia.geometry.resize",
        "kornia.geometry.transform.resize",
        "kornia.geometry.transform.rescale",
        "kornia.geometry.rescale",
        "PIL.ImageOps.fit",
        "PIL.ImageOps.contain",
        "tensorflow.image.resize",
        "jax.image.resize",
        "torch.nn.functional.avg_pool2d",
        "torch.nn.functional.max_pool2d",
        "torch.nn.functional.adaptive_avg_pool2d",
        "torch.nn.functional.adaptive_max_pool2d",
    }
)
RESIZE_MAKERS = frozenset(
    {
        "torch.nn.Upsample",
        "torch.nn.AvgPool2d",
        "torch.nn.MaxPool2d",
        "torch.nn.AdaptiveAvgPool2d",
        "torchvision.transforms.Resize",
        "torchvision.transforms.v2.Resize",
        "kornia.augmentation.Resize",
        "kornia.geometry.transform.Resize",
        "kornia.geometry.transform.Rescale",
        "albumentations.Resize",
    }
)
RESIZE_METHODS = frozenset({"resize", "thumbnail", "reduce", "resize_"})
FACTORS = ("zoom", "rescale", ".reduce")
POOLINGS = (".avg_pool2d", ".max_pool2d", ".AvgPool2d", ".MaxPool2d")


def is_resize(value: Applied) -> bool:
    """Whether a call changes the size of a picture."""
    if value.callee in RESIZE_CALLS or value.callee.removesuffix("()") in RESIZE_MAKERS:
        return True
    return value.callee.startswith(".") and value.callee[1:] in RESIZE_METHODS and len(value.args) > 1


def is_fixed(value: Applied) -> bool:
    """Whether the size is written down rather than computed from the picture."""
    if is_by_factor(value) or any(pooling in value.callee for pooling in POOLINGS):
        return False
    asked = value.maker or value
    rest = asked.args if value.maker is not None else value.args[1:]
    sizes = [*rest[:1], *(asked.keywords[k] for k in ("size", "dsize", "output_size") if k in asked.keywords)]
    return any(_is_number(size) for size in sizes)


def is_by_factor(value: Applied) -> bool:
    """Whether a call resizes by a factor."""
    return value.callee.removesuffix("()").lower().endswith(FACTORS)


def _is_number(value: Value) -> bool:
    if isinstance(value, Items):
        return bool(value.items) and all(_is_number(item) for item in value.items)
    return isinstance(value, Constant) and isinstance(value.value, int | float)


def is_smooth(value: Applied) -> bool:
    """Whether a call averages or filters what it makes smaller."""
    asked = value.maker or value
    flag = asked.keywords.get("antialias") or asked.keywords.get("anti_aliasing")
    mode = asked.keywords.get("mode") or asked.keywords.get("interpolation")
    text = value.site.text
    averaged = "INTER_AREA" in text or any(
        word in value.callee for word in ("avg_pool", "AvgPool", "torchvision")
    )
    area = isinstance(mode, Constant) and mode.value == "area"
    return averaged or area or (isinstance(flag, Constant) and flag.value is True)
