"""What the tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from stethoscope.clinic.instructions import instructions

# A busy machine is no bug, and a submission is judged on the same examples every time; elsewhere the
# examples are drawn anew, which is how the next bug is found.
settings.register_profile(
    "steady",
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("steady")
os.environ.update(
    instructions()
)  # before torch computes anything, here and in every process that a test starts

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


@pytest.fixture(scope="module")
def two_nodes() -> Iterator[str]:
    """The address of a Ray cluster of two nodes with one core each."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    cluster.add_node(num_cpus=1)
    yield cluster.address
    ray.shutdown()
    cluster.shutdown()
