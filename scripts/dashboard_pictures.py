"""Take the pictures of the dashboard that stand in docs/how-to/serve.md.

    .venv/bin/python scripts/dashboard_pictures.py

Serves a copy of the examples beside a small sweep and a project that can be mended, opens the pages in
Chromium (Playwright), and writes docs/pictures/dashboard-*.webp (Pillow). Nothing of the copy is kept.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
PATIENCE = 300_000  # milliseconds, for a machine that has other work
QUALITY = 82
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

sys.path.insert(0, str(ROOT))


def main() -> None:
    """Serve, and take one picture after the other."""
    with tempfile.TemporaryDirectory(prefix="stethoscope-pictures-") as folder:
        lay_out(Path(folder) / "runs")
        with served(Path(folder)) as address, browser() as opened:
            page = opened(address)
            page.wait_for_selector("#rows tr")
            page.wait_for_selector("#banner .notice", state="detached")
            taken(page, "dashboard-list", 620)
            a_run(page)
            a_comparison(page)
            a_plan(page)
            page = opened(address, color_scheme="dark", viewport={"width": 390, "height": 844})
            page.wait_for_selector("#rows tr")
            taken(page, "dashboard-phone", 844)


def lay_out(runs: Path) -> None:
    """The examples, a sweep in which two runs diverge, and a project whose settings can be mended."""
    from tests.prescription.patients import LOG, sick_project

    shutil.copytree(ROOT / "examples", runs / "examples", ignore=shutil.ignore_patterns("overflow"))
    chance = random.Random(0)
    for number in range(6):
        home = runs / "sweep" / f"seed-{number}"
        home.mkdir(parents=True)
        rows = ["step,loss,lr"]
        for step in range(0, 2000, 10):
            loss = 0.4 + 2.5 / (1 + step / 120) + chance.gauss(0, 0.02)
            loss = loss * 1.04 ** (step / 10 - 120) if number in {2, 5} and step > 1200 else loss
            rows.append(f"{step},{loss:.5f},0.0003")
        (home / "train.csv").write_text("\n".join(rows) + "\n")
    project = sick_project(runs / "nano")
    steps = "".join(f"step {step}: loss {2.0 / (1 + step / 20):.4f}\n" for step in range(0, 100, 10))
    (project / "train.log").write_text(steps + LOG)


def a_run(page: Any) -> None:
    """The top of a report."""
    chosen(page, "examples/nano-sr")
    page.wait_for_selector("#chart-1 .canvas canvas")
    page.wait_for_timeout(500)
    taken(page, "dashboard-run", 900)


def a_comparison(page: Any) -> None:
    """A sick run against the cured one."""
    home(page)
    for name in ("examples/nano-sr-cured", "examples/nano-sr"):
        page.locator("#rows tr", has=page.locator(f"bdi:text-is('{name}')")).locator(".pick").check()
    page.click("#comparing button")
    page.wait_for_selector("#chart-1 .canvas canvas")
    page.wait_for_timeout(500)
    taken(page, "dashboard-compare", 730)


def a_plan(page: Any) -> None:
    """What would be written."""
    home(page)
    page.set_viewport_size({"width": 1200, "height": 640})
    chosen(page, "nano")
    page.click("#show-plan")
    page.wait_for_selector("dialog[open]")
    taken(page, "dashboard-plan", 640)


def home(page: Any) -> None:
    page.goto(page.evaluate("location.origin"))
    page.wait_for_selector("#rows tr")


def chosen(page: Any, name: str) -> None:
    page.click(f"#rows bdi:text-is('{name}')")


def taken(page: Any, name: str, height: int) -> None:
    """What is seen of a page, as a small file."""
    from PIL import Image

    width = page.viewport_size["width"]
    shot = page.screenshot(clip={"x": 0, "y": 0, "width": width, "height": height})
    target = PICTURES / f"{name}.webp"
    Image.open(BytesIO(shot)).convert("RGB").save(target, quality=QUALITY, method=6)
    print(f"{target.relative_to(ROOT)}: {target.stat().st_size // 1000} kB", flush=True)


@contextmanager
def served(folder: Path) -> Any:
    """The address of a dashboard over the runs."""
    process = subprocess.Popen(
        [sys.executable, "-m", "stethoscope", "serve", "runs", "--no-browser", "--port", "0"],
        cwd=folder,
        env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache")},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


@contextmanager
def browser() -> Any:
    """What opens a page in a browser of its own."""
    from playwright.sync_api import sync_playwright

    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        sys.exit("dashboard_pictures: no Chromium is installed.")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield _opener(started)
        started.close()


def _opener(started: Any) -> Callable[..., Any]:
    def opened(address: str, **options: Any) -> Any:
        context = started.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.goto(address)
        return page

    return opened


if __name__ == "__main__":
    main()
