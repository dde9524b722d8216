"""Several files are written all together or not at all, whatever happens in between, and can be put back."""

from __future__ import annotations

import errno
import os
import signal
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stethoscope.errors import StethoscopeError, UnwritableFile
from stethoscope.prescription.applying import journal
from stethoscope.prescription.applying.journal import (
    interrupted,
    last_written,
    recover,
    shelf_above,
    undo,
    write_all,
)
from stethoscope.prescription.applying.plan import FileChange
from tests.prescription.patients import contents

BEFORE = {"a.py": b"a = 1\r\n", "conf/b.yaml": b"\xef\xbb\xbfb: 1 # \xc3\xa9"}
AFTER = {"a.py": b"a = 22\r\n", "conf/b.yaml": b"\xef\xbb\xbfb: 22 # \xc3\xa9", "new.toml": b"n = 1\n"}


def project_of(folder: Path, files: dict[str, bytes] = BEFORE) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def changes_in(project: Path) -> list[FileChange]:
    """Two files that change and one that comes."""
    known = [FileChange(project / name, name, BEFORE[name], AFTER[name], ("mend",)) for name in BEFORE]
    return [*known, FileChange(project / "new.toml", "new.toml", b"", AFTER["new.toml"], comes=True)]


def test_everything_is_written_and_put_back_byte_for_byte(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    (project / "a.py").chmod(0o751)
    write_all(project, changes_in(project), "runs/one")
    assert contents(project) == AFTER
    assert stat.S_IMODE((project / "a.py").stat().st_mode) == 0o751
    last = last_written(project)
    assert last is not None
    assert last.remedies == ("mend",)

    undo(project)

    assert contents(project) == BEFORE
    assert last_written(project) is None
    with pytest.raises(StethoscopeError, match="nothing that was written"):
        undo(project)


def test_what_was_written_twice_is_put_back_twice(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    write_all(project, changes_in(project), "one")
    later = FileChange(project / "a.py", "a.py", AFTER["a.py"], b"a = 333\n", ("more",))
    write_all(project, [later], "two")
    undo(project)
    assert contents(project) == AFTER
    undo(project)
    assert contents(project) == BEFORE


def test_what_somebody_changed_since_is_put_back_only_by_force_and_kept(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    write_all(project, changes_in(project), "one")
    (project / "a.py").write_bytes(b"mine\n")
    with pytest.raises(StethoscopeError, match=r"a\.py was changed since"):
        undo(project)
    assert contents(project) == AFTER | {"a.py": b"mine\n"}

    undo(project, force=True)

    assert contents(project) == BEFORE
    kept = [path.read_bytes() for path in (project / ".stethoscope").rglob("before/*")]
    assert b"mine\n" in kept


def test_a_file_that_changed_since_it_was_read_stops_all_of_it(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    (project / "conf/b.yaml").write_bytes(b"theirs")
    with pytest.raises(UnwritableFile, match=r"b\.yaml changed since it was read"):
        write_all(project, changes_in(project), "one")
    assert contents(project) == BEFORE | {"conf/b.yaml": b"theirs"}


def test_a_read_only_file_stops_all_of_it(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    (project / "conf/b.yaml").chmod(0o444)
    with pytest.raises(UnwritableFile, match=r"b\.yaml is read-only"):
        write_all(project, changes_in(project), "one")
    assert contents(project) == BEFORE
    assert last_written(project) is None


def test_a_second_call_at_the_same_time_is_refused(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    with journal._held(project), pytest.raises(StethoscopeError, match="another call is writing"):
        write_all(project, changes_in(project), "one")
    assert contents(project) == BEFORE


def test_nothing_is_written_through_a_link_out_of_the_project(tmp_path: Path) -> None:
    project, elsewhere = project_of(tmp_path / "project"), tmp_path / "elsewhere"
    elsewhere.mkdir()
    (project / ".stethoscope").symlink_to(elsewhere)
    with pytest.raises(UnwritableFile, match="is a link"):
        write_all(project, changes_in(project), "one")
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("name", ["../outside.py", "/etc/hostname"])
def test_a_journal_that_names_files_elsewhere_is_not_followed(tmp_path: Path, name: str) -> None:
    project = project_of(tmp_path / "project")
    (tmp_path / "outside.py").write_bytes(b"outside")
    write_all(project, changes_in(project), "one")
    file = project / ".stethoscope" / "prescribed" / "0001" / "journal.json"
    file.write_text(file.read_text().replace('"a.py"', f'"{name}"'))
    with pytest.raises(StethoscopeError, match="which is not in"):
        undo(project)
    assert (tmp_path / "outside.py").read_bytes() == b"outside"


def test_a_damaged_backup_is_noticed(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    write_all(project, changes_in(project), "one")
    (project / ".stethoscope/prescribed/0001/before/0").write_bytes(b"torn")
    with pytest.raises(StethoscopeError, match="is not what was kept"):
        undo(project)
    assert contents(project) == AFTER


def test_a_damaged_journal_is_said(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    write_all(project, changes_in(project), "one")
    (project / ".stethoscope/prescribed/0001/journal.json").write_bytes(b'{"schema": 1, "ki')
    with pytest.raises(StethoscopeError, match="is no journal"):
        undo(project)


def test_the_project_is_found_from_below(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    write_all(project, changes_in(project), "one")
    assert shelf_above([project / "conf" / "b.yaml"]) == project.resolve()
    assert shelf_above([Path("/")]) is None


def test_a_new_file_that_somebody_changed_is_taken_away_only_by_force(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    write_all(project, changes_in(project), "one")
    (project / "new.toml").write_bytes(b"mine")
    with pytest.raises(StethoscopeError, match=r"new\.toml was changed since"):
        undo(project)
    assert (project / "new.toml").read_bytes() == b"mine"
    undo(project, force=True)
    assert contents(project) == BEFORE


def test_a_new_file_that_is_gone_already_stays_away(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    write_all(project, changes_in(project), "one")
    (project / "new.toml").unlink()
    undo(project)
    assert contents(project) == BEFORE


def test_no_file_is_written_where_one_has_come_since(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    (project / "new.toml").write_bytes(b"mine")
    with pytest.raises(UnwritableFile, match="is there since"):
        write_all(project, changes_in(project), "one")
    assert contents(project) == BEFORE | {"new.toml": b"mine"}


@settings(max_examples=15)
@given(
    st.dictionaries(
        st.sampled_from(["a", "b.py", "sub/c", "sub/d.yaml", "e f"]),
        st.tuples(st.binary(max_size=40), st.binary(max_size=40)),
        min_size=1,
    )
)
def test_undoing_restores_any_bytes(tmp_path_factory: pytest.TempPathFactory, files: dict[str, Any]) -> None:
    before = {name: pair[0] for name, pair in files.items()}
    project = project_of(tmp_path_factory.mktemp("p"), before)
    changes = [FileChange(project / name, name, *pair) for name, pair in files.items()]
    write_all(project, changes, "one")
    assert contents(project) == {name: pair[1] for name, pair in files.items()}
    undo(project)
    assert contents(project) == before


# --- what happens in between --------------------------------------------------------------------------

CALLS = ("fsync", "replace", "rename", "mkdir", "chmod", "link", "unlink")


def nth_call(n: int, act: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Have the n-th call that changes the disk, and every later one, do something else first."""
    made: list[str] = []

    def around(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **named: Any) -> Any:
            made.append(name)
            if len(made) >= n:
                act()
            return real(*args, **named)

        return called

    for name in CALLS:
        monkeypatch.setattr(os, name, around(name, getattr(os, name)))
    return made


def killed_at(n: int, work: Callable[[], object]) -> bool:
    """Do some work in a process that is killed at its n-th call; whether it was."""
    child = os.fork()
    if child == 0:
        with pytest.MonkeyPatch.context() as patch:
            nth_call(n, lambda: os.kill(os.getpid(), signal.SIGKILL), patch)
            try:
                work()
            finally:
                os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def test_a_kill_at_any_point_of_writing_loses_nothing(tmp_path: Path) -> None:
    for n in range(1, 200):
        project = project_of(tmp_path / str(n))
        killed = killed_at(n, lambda project=project: write_all(project, changes_in(project), "one"))
        recover(project)
        assert contents(project) in (BEFORE, AFTER), n
        assert interrupted(project) == ()
        if contents(project) == AFTER:
            undo(project)
        assert contents(project) == BEFORE, n
        if not killed:
            break
    assert 10 < n < 199


def test_a_kill_at_any_point_of_undoing_loses_nothing(tmp_path: Path) -> None:
    for n in range(1, 200):
        project = project_of(tmp_path / str(n))
        write_all(project, changes_in(project), "one")
        killed = killed_at(n, lambda project=project: undo(project))
        recover(project)
        assert contents(project) in (BEFORE, AFTER), n
        if contents(project) == AFTER:
            undo(project)
        assert contents(project) == BEFORE, n
        write_all(project, changes_in(project), "again")
        undo(project)
        assert contents(project) == BEFORE, n
        if not killed:
            break
    assert 10 < n < 199


@pytest.mark.parametrize("once", [True, False], ids=["once", "from then on"])
def test_a_failing_disk_leaves_every_file_as_it_was(tmp_path: Path, once: bool) -> None:
    for n in range(1, 200):
        project = project_of(tmp_path / str(n))
        failed: list[int] = []

        def fail(failed: list[int] = failed) -> None:
            if not (once and failed):
                failed.append(1)
                raise OSError(errno.ENOSPC, "No space left on device")

        with pytest.MonkeyPatch.context() as patch, suppress(UnwritableFile, StethoscopeError):
            nth_call(n, fail, patch)
            write_all(project, changes_in(project), "one")
        if once:
            assert contents(project) in (BEFORE, AFTER), n
        recover(project)
        assert contents(project) in (BEFORE, AFTER), n
        if not failed:
            break
    assert 10 < n < 199


def test_undoing_after_a_crash_takes_back_no_more_than_was_interrupted(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    write_all(project, changes_in(project), "one")
    later = [FileChange(project / name, name, AFTER[name], b"later") for name in AFTER]
    for n in range(1, 200):
        killed_at(n, lambda: write_all(project, later, "two"))
        if interrupted(project):
            break
    undo(project)
    assert contents(project) == AFTER
    undo(project)
    assert contents(project) == BEFORE


def test_a_change_after_a_crash_is_not_written_over(tmp_path: Path) -> None:
    n = next(n for n in range(1, 200) if _is_half_written(tmp_path / str(n), n))
    project = tmp_path / str(n)
    (project / "conf/b.yaml").write_bytes(b"mine")
    with pytest.raises(StethoscopeError, match=r"b\.yaml was changed after a call that was interrupted"):
        recover(project)
    assert (project / "conf/b.yaml").read_bytes() == b"mine"


def _is_half_written(project: Path, n: int) -> bool:
    project_of(project)
    killed_at(n, lambda: write_all(project, changes_in(project), "one"))
    return contents(project) not in (BEFORE, AFTER) and (project / "a.py").read_bytes() == AFTER["a.py"]
