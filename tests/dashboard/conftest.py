"""A dashboard over a small folder whose work is done here and now, without processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra [dashboard] is not installed")
pytest.importorskip("httpx", reason="httpx is not installed: the dashboard is not asked")

from starlette.testclient import TestClient

from stethoscope.dashboard.app import application
from stethoscope.dashboard.changes import Shown, blocks_of
from stethoscope.dashboard.dashboard import Dashboard
from stethoscope.dashboard.following import Look
from stethoscope.dashboard.gate import Keys
from stethoscope.dashboard.houses import house_at, number_of
from stethoscope.dashboard.joined.finding import Memory, find
from stethoscope.dashboard.joined.summaries import nowhere, summary_of
from stethoscope.dashboard.register import Register
from stethoscope.diagnose import diagnose
from stethoscope.report.html.page import content

TOKEN = "a-token-that-only-this-test-knows"
HEALTHY = "step,loss\n" + "".join(f"{step},{2.0 / (1 + step / 20):.5f}\n" for step in range(0, 400, 4))


class Here:
    """Does what is asked at once, in this process."""

    def ask(
        self, function: Callable[..., Any], *given: Any, seconds: float, rank: float = 0.0
    ) -> Future[Any]:
        answer: Future[Any] = Future()
        answer.set_running_or_notify_cancel()
        try:
            answer.set_result(function(*given))
        except Exception as problem:
            answer.set_exception(problem)
        return answer

    def close(self) -> None:
        """There is nothing to end."""


@dataclass
class Still:
    """A run that does not change while it is looked at."""

    look: Look
    version: int = 1
    readers: int = 0
    asked: float = 0.0
    alive: bool = True


class StandingStill:
    """Looks at a run once."""

    def follow(self, number: str, path: str) -> Any:
        diagnosis = diagnose(path)
        report = content(diagnosis)
        charts: Any = report.data["charts"]
        shown = Shown(report.title, blocks_of(report.markup), charts)
        return Still(Look(shown, summary_of(diagnosis, path)))

    def close(self) -> None:
        """There is nothing to end."""


@dataclass
class Asked:
    """A dashboard and the client of somebody who has its key."""

    dashboard: Dashboard
    client: TestClient
    folder: Path

    def look(self) -> None:
        """Let the scout go through the folder once."""
        self.dashboard.register.found(find(self.folder, self.dashboard.house.shown, Memory()))

    def post(self, path: str, told: Any, **headers: str) -> Any:
        own = {"origin": "http://127.0.0.1", "x-stethoscope": self.dashboard.keys.csrf}
        return self.client.post(path, json=told, headers={**own, **headers})

    def run(self, inside: str) -> str:
        """The address of a run."""
        return f"/run/{number_of('run', inside)}"


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Callable[..., Asked]]:
    """Serve a folder, and have its key."""
    made: list[Dashboard] = []

    def serve(folder: Path | None = None, read_only: bool = False) -> Asked:
        home = folder or tmp_path / "runs"
        home.mkdir(exist_ok=True)
        house, keys, here = house_at(str(home)), Keys(TOKEN), Here()
        register = Register(house, here, nowhere, at_once=100)
        dashboard = Dashboard(house, keys, register, here, StandingStill(), (), read_only)
        made.append(dashboard)
        client = TestClient(application(dashboard), base_url="http://127.0.0.1", raise_server_exceptions=True)
        client.cookies.set(keys.cookie, TOKEN)
        asked = Asked(dashboard, client, house.root)
        asked.look()
        return asked

    yield serve
    for dashboard in made:
        dashboard.close()


def run_in(folder: Path, name: str, log: str = HEALTHY) -> Path:
    """A run of one log."""
    home = folder / name
    home.mkdir(parents=True)
    (home / "train.csv").write_text(log, encoding="utf-8")
    return home
