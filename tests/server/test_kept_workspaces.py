"""A daemon keeps the workspace of a client between calls, and rebuilds it when settings or roots change."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from daemons import Place


def project(folder: Path, word: str) -> Path:
    folder.mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / f"{word}.py").write_text(f"def {word}():\n    return 1\n")
    return folder


def answers(place: Place, cwd: Path, *flags: str) -> str:
    return place.llmc("find", "*.py", *flags, cwd=cwd, work_tree=False).stdout


def test_a_root_that_is_replaced_by_another_folder_is_answered_as_it_is_now(place: Place, tmp_path: Path) -> None:
    here = project(tmp_path / "here", "first")
    project(tmp_path / "other", "second")
    for _ in range(2):
        assert "first.py" in answers(place, here)
    here.rename(tmp_path / "gone")
    (tmp_path / "other").rename(here)

    assert "second.py" in answers(place, here)
    assert "first.py" not in answers(place, here)


def test_a_link_to_a_root_is_followed_to_where_it_leads_now(place: Place, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(project(tmp_path / "one", "first"))
    for _ in range(2):
        assert "first.py" in answers(place, tmp_path, "--root", str(link))
    link.unlink()
    link.symlink_to(project(tmp_path / "two", "second"))

    assert "second.py" in answers(place, tmp_path, "--root", str(link))


def test_a_root_that_is_forgotten_or_excluded_is_opened_again(place: Place, tmp_path: Path) -> None:
    here = project(tmp_path / "here", "first")
    assert "first.py" in answers(place, here)
    assert place.llmc("forget", str(here), cwd=here).returncode == 0
    assert "first.py" in answers(place, here)
    (here / "llmc.toml").write_text('[index]\nexclude = ["first.py"]\n')
    assert "first.py" not in answers(place, here)
    (here / "llmc.toml").unlink()

    assert "first.py" in answers(place, here)
