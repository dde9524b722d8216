"""The server, with streams that end as soon as it is told to end."""

from __future__ import annotations

from types import FrameType

import uvicorn

from stethoscope.dashboard.dashboard import Dashboard


class Server(uvicorn.Server):
    """Tells the dashboard before it waits for its readers."""

    def __init__(self, config: uvicorn.Config, dashboard: Dashboard) -> None:
        super().__init__(config)
        self._dashboard = dashboard

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Let every stream end, and then the server."""
        self._dashboard.closing = True
        super().handle_exit(sig, frame)
