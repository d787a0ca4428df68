"""The engine ray: without Ray one line; with it, on two nodes of which one dies, the bytes of the local engine."""

from __future__ import annotations

import os
import pickle
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from audit_support import jsonl
from run_support import ITEMS, audit, parts, results, rows, settings

import auditkit
from auditkit.errors import BadRecordError, MissingExtraError, UsageError
from auditkit.formats import columnar

NODE = {"num_cpus": 1, "object_store_memory": 80 << 20}


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pool of nine pieces."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(columnar, "PIECE_BYTES", 1)
    (tmp_path / "pool").mkdir()
    pl.DataFrame(rows(605)).write_parquet("pool/a.parquet", row_group_size=80)
    jsonl(tmp_path / "pool/b.jsonl", rows(90, seed=2))
    jsonl(tmp_path / "bench.jsonl", ITEMS)
    return tmp_path


def test_without_ray_it_is_one_line(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match="the engine ray needs the extra 'ray'"):
        audit("out", "pool", run=auditkit.RunSettings(engine="ray"))
    assert not Path("out").exists()


@pytest.mark.parametrize("error", [BadRecordError("a", 3, "broken", "Mend it"), MissingExtraError("this", "ray")])
def test_errors_come_back_from_other_machines(error: Exception) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


@pytest.mark.ray
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_an_address_without_a_cluster_is_one_line(work: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(UsageError, match=f"no Ray cluster at {address} .*refused.*; start one with ray start"):
        audit("out", "pool", run=auditkit.RunSettings(engine="ray", address=address))
    with pytest.raises(UsageError, match="run this on a node of the cluster"):
        audit("out", "pool", run=auditkit.RunSettings(engine="ray", address="ray://127.0.0.1:1"))
    assert not Path("out").exists()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes of one CPU each on this machine, and a connection to them."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    nodes = Cluster(initialize_head=True, head_node_args=NODE)
    nodes.add_node(**NODE)
    ray.init(address=nodes.address, log_to_driver=False, logging_level="ERROR")
    yield nodes
    ray.shutdown()
    nodes.shutdown()


@pytest.mark.ray
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_a_node_that_dies_changes_no_byte(cluster: Any, work: Path) -> None:
    audit("whole", "pool")
    n_done, other = 0, next(iter(cluster.worker_nodes))

    def kill(n_rows: int, n_bytes: int) -> None:
        nonlocal n_done
        n_done += 1
        if n_done == 5:
            cluster.remove_node(other, allow_graceful=False)

    report = audit("out", "pool", run=auditkit.RunSettings(engine="ray"), on_progress=kill)
    assert results("out") == results("whole")
    assert parts("out").keys() == parts("whole").keys()
    assert (report.run["engine"], report.run["n_shards"]) == ("ray", n_done)
    again = audit("out", "pool", run=auditkit.RunSettings(engine="ray", workers=1))
    assert again.run["n_shards_reused"] == n_done
    (work / "pool/b.jsonl").write_text('{"text": "a"}\n{broken\n')
    with pytest.raises(BadRecordError, match=r"pool/b\.jsonl, line 2"):
        auditkit.audit("pool", "bench.jsonl", settings(), run=auditkit.RunSettings(engine="ray"))
