"""What the tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

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
