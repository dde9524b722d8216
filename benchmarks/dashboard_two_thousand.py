"""How soon the dashboard paints a list of 2,000 runs, and how soon a line of a log is on the page.

    python benchmarks/dashboard_two_thousand.py [--runs 2000] [--folder DIR] [--lines 20] [--quick]

Makes small runs (three curves of 60 points, a settings file), serves them, and opens the pages in Chromium
(Playwright). "First paint" is what the browser calls first-contentful-paint, from the moment it asks for
the page. "Update" is from the moment a line is written to the log until the chart on the page has its step,
looked for every 20 ms. The processor time is that of the server's own process. Each is measured on a list
that nobody has examined yet, while the examination goes on, and again on one that is known from the index.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

POINTS = 60
LOOK_EVERY = 0.02
# A chart that is being drawn anew has no step for a moment.
LAST_STEP = "(() => { try { return stethoscope.drawn('chart-1')[0].at(-1); } catch { return -1; } })()"
ENOUGH_SECONDS = 120.0


def main() -> None:
    """Measure, and print the figures as a table in Markdown."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--runs", type=int, default=2000)
    asked.add_argument("--lines", type=int, default=20)
    asked.add_argument("--folder", type=Path)
    asked.add_argument("--quick", action="store_true", help="do not wait until every run is examined")
    given = asked.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp(prefix="stethoscope-dashboard-"))
    runs = folder / "runs"
    if not runs.exists():
        make_runs(runs, given.runs)
    print(f"{given.runs:,} runs, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
    print("| what | wall | processor time of the server |\n|---|---|---|")
    shutil.rmtree(folder / "cache", ignore_errors=True)
    with Served(folder) as cold:
        measure_paint(cold, "first paint, nothing examined yet")
        measure_updates(cold, runs, given.lines, "update, while the others are examined")
        if not given.quick:
            measure_examination(cold)
            measure_paint(cold, "first paint, all examined")
    if not given.quick:
        measure_warm(folder, given.lines)
    if given.folder is None:
        shutil.rmtree(folder)


def measure_warm(folder: Path, lines: int) -> None:
    """The same with a dashboard that finds everything in the index."""
    with Served(folder) as warm:
        measure_paint(warm, "first paint, just started, known from the index", rows=False)
        measure_paint(warm, "the same, a moment later")
        measure_updates(warm, folder / "runs", lines, "update")


def make_runs(runs: Path, many: int) -> None:
    """Runs that fall as they should, and every seventh one that does not."""
    chance = random.Random(0)
    for number in range(many):
        home = runs / f"sweep-{number // 100:02d}" / f"run-{number:04d}"
        home.mkdir(parents=True)
        rate = chance.choice([1e-4, 3e-4, 1e-3])
        (home / "config.yaml").write_text(f"lr: {rate:.4f}\nseed: {number}\n")
        lines = ["step,loss,lr,grad_norm"]
        for step in range(0, 10 * POINTS, 10):
            loss = 2.5 / (1 + step / 80) + chance.gauss(0, 0.02) + 0.5
            if number % 7 == 0 and step > 400:
                loss = float("nan")
            lines.append(f"{step},{loss:.5f},{rate},{abs(chance.gauss(1, 0.2)):.4f}")
        (home / "train.csv").write_text("\n".join(lines) + "\n")
        past = time.time() - chance.uniform(3600, 90 * 86400)
        os.utime(home / "train.csv", (past, past))


class Served:
    """A dashboard over the runs, and a browser."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __enter__(self) -> Served:
        from playwright.sync_api import sync_playwright

        began = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "stethoscope", "serve", "runs", "--no-browser", "--port", "0"],
            cwd=self.folder,
            env={**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache")},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        line("from the command to the address", time.monotonic() - began, self.processor())
        self.playwright = sync_playwright().start()
        found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
        self.browser = self.playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        self.context = self.browser.new_context(viewport={"width": 1200, "height": 900})
        self.context.set_default_timeout(1000 * ENOUGH_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        self.browser.close()
        self.playwright.stop()
        began = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        line("from Ctrl-C to the end", time.monotonic() - began, None)

    def processor(self) -> float:
        """Seconds of a processor that the server has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def asked(self, path: str) -> dict[str, Any]:
        base, token = self.address.split("/?token=")
        request = urllib.request.Request(base + path, headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=ENOUGH_SECONDS) as answer:
            told: dict[str, Any] = json.load(answer)
        return told


def measure_paint(served: Served, what: str, rows: bool = True) -> None:
    """The median of five loads."""
    page = served.context.new_page()
    page.goto(served.address)
    if rows:
        page.wait_for_selector("#rows tr")
    walls, costs = [], []
    for _ in range(5 if rows else 1):
        before = served.processor()
        page.goto(served.address.split("?")[0], wait_until="load")
        paint = None
        while paint is None:
            paint = page.evaluate(
                "(performance.getEntriesByName('first-contentful-paint')[0] || {}).startTime ?? null"
            )
        walls.append(paint / 1000)
        costs.append(served.processor() - before)
    line(what, statistics.median(walls), statistics.median(costs))
    page.close()


def measure_updates(served: Served, runs: Path, lines: int, what: str) -> None:
    """From a written line to the chart."""
    home = runs / "live"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    log = home / "train.csv"
    log.write_text("step,loss\n" + "".join(f"{step},{2 / (1 + step / 20):.4f}\n" for step in range(100)))
    until = time.monotonic() + ENOUGH_SECONDS
    found: list[dict[str, Any]] = []
    while not found and time.monotonic() < until:
        time.sleep(0.3)
        found = [row for row in served.asked("/runs.json?q=live")["runs"] if row["path"] == "live"]
    page = served.context.new_page()
    page.goto(f"{served.address.split('/?')[0]}/run/{found[0]['id']}?token={served.address.split('=')[1]}")
    page.wait_for_selector("#chart-1 .canvas canvas")
    time.sleep(3)
    waits, before = [], served.processor()
    for step in range(100, 100 + lines):
        with log.open("a") as stream:
            stream.write(f"{step},{2 / (1 + step / 20):.4f}\n")
        began = time.monotonic()
        while page.evaluate(LAST_STEP) < step:
            time.sleep(LOOK_EVERY)
        waits.append(time.monotonic() - began)
        time.sleep(random.uniform(0.2, 1.0))
    spent = (served.processor() - before) / lines
    line(f"{what}, median of {lines}", statistics.median(waits), spent)
    line(f"{what}, longest", max(waits), None)
    page.close()


def measure_examination(served: Served) -> None:
    """Until every run is examined."""
    began = time.monotonic()
    while True:
        progress = served.asked("/runs.json")["progress"]
        if progress["looked"] and progress["examined"] >= progress["runs"] > 0:
            break
        time.sleep(1)
    line(
        f"until all {progress['runs']:,} were examined, from here",
        time.monotonic() - began,
        served.processor(),
    )


def line(what: str, wall: float, processor: float | None) -> None:
    spent = "" if processor is None else f"{processor:.2f} s"
    print(f"| {what} | {wall:.2f} s | {spent} |", flush=True)


if __name__ == "__main__":
    main()
