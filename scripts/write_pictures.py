"""Write the picture of every block from the block itself.

    .venv/bin/python scripts/write_pictures.py              write docs/pictures/blocks/<block>.svg
    .venv/bin/python scripts/write_pictures.py ema ssim     those two only
    .venv/bin/python scripts/write_pictures.py --check      write nothing; fail where one would look different

Each file of scripts/block_pictures/ has `picture()`, which gives what is drawn. It needs torch, and some
pictures train for seconds, so this is not part of scripts/docs. The same machine writes the same bytes
twice; --check allows what another machine rounds differently.
"""

from __future__ import annotations

import base64
import re
import sys
import traceback
import zlib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import torch

from stethoscope.figures import svg
from stethoscope.figures.chart import Drawing

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = ROOT / "scripts" / "block_pictures"
PICTURES = ROOT / "docs" / "pictures" / "blocks"
SHIFT = 1.0  # pixels that a point may lie elsewhere on another machine
SHADE = 4  # levels of 255 that a pixel may differ by
NUMBER = re.compile(r"-?\d*\.?\d+(?:e-?\d+)?")
EMBEDDED = re.compile(r"data:image/png;base64,([A-Za-z0-9+/=]+)")


def main() -> None:
    """Write the pictures, or say which ones differ; every script is tried."""
    wanted = [name for name in sys.argv[1:] if not name.startswith("-")]
    failed = [path.stem for path in scripts(wanted) if not done(path, check="--check" in sys.argv[1:])]
    sys.exit(bool(failed))


def scripts(wanted: list[str]) -> list[Path]:
    """The scripts asked for, or all of them."""
    found = {path.stem: path for path in sorted(SCRIPTS.glob("[!_]*.py"))}
    unknown = sorted(set(wanted) - set(found))
    if unknown:
        sys.exit(f"write_pictures: no {', '.join(unknown)} in {SCRIPTS.relative_to(ROOT)}.")
    return [found[name] for name in wanted] if wanted else list(found.values())


def done(script: Path, check: bool) -> bool:
    """Draw one picture and write or compare it; whether all went well."""
    target = PICTURES / f"{script.stem}.svg"
    try:
        text = svg.render(drawing(script))
    except Exception:
        print(f"write_pictures: {script.relative_to(ROOT)} failed:\n{traceback.format_exc()}")
        return False
    before = target.read_text("utf-8") if target.exists() else ""
    if check:
        if not alike(before, text):
            print(f"write_pictures: {target.relative_to(ROOT)} differs; run scripts/write_pictures.py.")
        return alike(before, text)
    if before != text:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        print(f"wrote {target.relative_to(ROOT)} ({len(text) // 1000} kB)")
    return True


def drawing(script: Path) -> Drawing:
    """What a script draws, from the same beginning every time."""
    spec = spec_from_file_location(f"block_pictures_{script.stem}", script)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    torch.manual_seed(0)
    torch.set_num_threads(1)  # sums are made in the same order
    spec.loader.exec_module(module)
    drawn: Drawing = module.picture()
    return drawn


def alike(one: str, other: str) -> bool:
    """Whether two pictures look the same."""
    if one == other:
        return True
    images, others = EMBEDDED.findall(one), EMBEDDED.findall(other)
    if len(images) != len(others) or not all(map(same_pixels, images, others)):
        return False
    one, other = EMBEDDED.sub("", one), EMBEDDED.sub("", other)
    if NUMBER.sub("", one) != NUMBER.sub("", other):
        return False
    numbers = [np.array(NUMBER.findall(text), dtype=np.float64) for text in (one, other)]
    return bool(np.allclose(*numbers, rtol=1e-3, atol=SHIFT))


def same_pixels(one: str, other: str) -> bool:
    """Whether two embedded images show the same."""
    pixels, others = (levels(base64.b64decode(image)) for image in (one, other))
    return pixels.shape == others.shape and bool((np.abs(pixels - others) <= SHADE).all())


def levels(png: bytes) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """The levels in a PNG file as the figures write it: one part, no filters."""
    begin = png.index(b"IDAT") + 4
    size = int.from_bytes(png[begin - 8 : begin - 4], "big")
    return np.frombuffer(zlib.decompress(png[begin : begin + size]), dtype=np.uint8).astype(np.int64)


if __name__ == "__main__":
    main()
