"""What the tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is no bug, and a submission is judged on the same examples every time; elsewhere the
# examples are drawn anew, which is how the next bug is found.
settings.register_profile(
    "steady",
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("steady")

ROOT = Path(__file__).parent.parent
CORPUS = ROOT.parent / "shared" / "corpus"


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Real logs from public repositories; they are not part of this project."""
    if not CORPUS.is_dir():
        pytest.skip("../shared/corpus is not here: the real logs are not read")
    return CORPUS


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's root."""
    return ROOT
