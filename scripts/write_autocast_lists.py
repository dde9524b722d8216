"""Write src/stethoscope/program/precision/autocast_lists.py from the header of the torch that is installed.

.venv/bin/python scripts/write_autocast_lists.py
"""

from __future__ import annotations

import re
from importlib.metadata import distribution
from pathlib import Path

TARGET = Path(__file__).parents[1] / "src" / "stethoscope" / "program" / "precision" / "autocast_lists.py"
HEADER = "torch/include/ATen/autocast_mode.h"
LISTS = {
    "LOWER": ("AT_FORALL_LOWER_PRECISION_FP",),
    "SINGLE": ("AT_FORALL_FP32", "AT_FORALL_FP32_SET_OPT_DTYPE", "AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE"),
    "WIDEST": ("AT_FORALL_PROMOTE",),
}
MEANING = {
    "LOWER": "run in the half precision of the region, whatever they get",
    "SINGLE": "run in float32, whatever they get",
    "WIDEST": "run in the widest type among their inputs",
}


def main() -> None:
    """Read the macros and write the table."""
    torch = distribution("torch")
    header = Path(str(torch.locate_file(HEADER))).read_text(encoding="utf-8")
    version = torch.version.partition("+")[0]
    lines = [
        f'"""The operations that autocast on CUDA treats in ways of their own, as listed in torch {version}.',
        "",
        "Written by scripts/write_autocast_lists.py from the header of torch; not by hand.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        f'TORCH = "{version}"',
    ]
    for name, macros in LISTS.items():
        found = sorted({op for macro in macros for op in _operations(header, macro)})
        lines += ["", f"# These {MEANING[name]}.", "# fmt: off", f"{name} = frozenset({{"]
        lines += _wrapped([f'"{op}",' for op in found])
        lines += ["})", "# fmt: on"]
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _operations(header: str, macro: str) -> list[str]:
    found = re.search(rf"#define {macro}\(_\)((?:.*\\\n)+.*\n)", header)
    if found is None:
        raise SystemExit(f"{macro} is not in this torch's header.")
    named = re.findall(r"_\((?:ADD_NS\()?(\w+)", found.group(1))
    return [name for name in named if not name.startswith("_")]


def _wrapped(words: list[str]) -> list[str]:
    lines = ["   "]
    for word in words:
        if len(lines[-1]) + 1 + len(word) > 108:
            lines.append("   ")
        lines[-1] += f" {word}"
    return lines


if __name__ == "__main__":
    main()
