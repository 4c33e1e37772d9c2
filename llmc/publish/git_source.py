"""Determines the repository, ref and commit of a folder.

The folder is a work tree, a linked one, or a bare repository, as in a hook. In CI a checkout is often detached and
shallow, so the variables of the CI system take precedence over the git directory for the repository and the branch.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llmc.base.errors import ConfigError, NotFoundError, RootError
from llmc.base.git_folder import REPO_NAME, name_of_remote

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["GitSource", "checked_repo", "open_source"]

# GitHub, GitLab, Buildkite, Bitbucket and Jenkins, in this order.
REPO_VARIABLES = ("GITHUB_REPOSITORY", "CI_PROJECT_PATH", "BUILDKITE_PIPELINE_SLUG", "BITBUCKET_REPO_FULL_NAME")
REF_VARIABLES = ("GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "BUILDKITE_BRANCH", "BITBUCKET_BRANCH", "BRANCH_NAME")
COMMIT = re.compile(r"[0-9a-f]{7,64}")
BRANCHES = "refs/heads/"
LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class GitSource:
    """`folder` is the work tree, empty for a bare repository; `objects` is the folder of git's objects."""

    folder: str
    objects: str
    commit: str
    repo: str
    ref: str


def open_source(root: str, environ: Mapping[str, str], *, commit: str = "", ref: str = "", repo: str = "") -> GitSource:
    """What `llmc publish ROOT` publishes; options take precedence over the variables of CI, and those over git."""
    from dulwich.errors import NotGitRepository  # noqa: PLC0415 - 0.1 s
    from dulwich.repo import Repo  # noqa: PLC0415 - 0.1 s

    try:
        git: Any = Repo.discover(root)
    except NotGitRepository:
        raise RootError(
            f"{root} is not in a git repository", hint="Publish a git work tree or a bare repository."
        ) from None
    try:
        found = _resolved(git, commit)
        named = checked_repo(repo or _first(environ, REPO_VARIABLES) or _remote_name(git) or _folder_name(git.path))
        branch = ref or _first(environ, REF_VARIABLES) or _branch(git)
        if not branch:
            raise ConfigError(
                "the name of the ref is unknown", reason="the checkout is detached", hint="Set it with --ref."
            )
        folder = "" if git.bare else str(git.path)
        return GitSource(folder, str(git.object_store.path), found, named, _checked_ref(branch))
    finally:
        git.close()


def checked_repo(name: str) -> str:
    if not REPO_NAME.fullmatch(name) or len(name) > LONGEST_NAME or ".." in name.split("/"):
        raise ConfigError(
            f"{name[:80]!r} cannot be the name of a repository",
            hint="Use letters, digits, - _ . + and / between its parts, as in team/service (--repo).",
        )
    return name


def _checked_ref(name: str) -> str:
    if any(character in name for character in " ~^:?*[\\@\0\n") or len(name) > LONGEST_NAME:
        raise ConfigError(f"{name[:80]!r} cannot be the name of a ref", hint="Set it with --ref.")
    return name


def _resolved(git: Any, commit: str) -> str:
    """The commit of a ref, a tag or a (possibly shortened) id; HEAD if empty."""
    for name in (commit, f"{BRANCHES}{commit}", f"refs/tags/{commit}", f"refs/remotes/origin/{commit}"):
        try:
            return str(git.refs[(name or "HEAD").encode()].decode())
        except (KeyError, ValueError):
            continue
    if COMMIT.fullmatch(commit):
        matching = list(git.object_store.iter_prefix(commit.encode())) if len(commit) < 40 else [commit.encode()]  # noqa: PLR2004 - SHA-1
        if len(matching) == 1:
            return str(matching[0].decode())
    raise NotFoundError(
        f"there is no commit {commit or 'HEAD'}", hint="Name a branch, a tag or a commit that was fetched (--commit)."
    )


def _branch(git: Any) -> str:
    try:
        followed, _ = git.refs.follow(b"HEAD")
    except (KeyError, ValueError):
        return ""
    last = followed[-1].decode() if followed else ""
    return last.removeprefix(BRANCHES) if last.startswith(BRANCHES) else ""


def _remote_name(git: Any) -> str:
    try:
        url = git.get_config().get((b"remote", b"origin"), b"url").decode("utf-8", "replace")
    except KeyError:
        return ""
    return name_of_remote(url)


def _folder_name(path: str) -> str:
    parts = [part for part in str(path).rstrip("/").split("/") if part not in {"", ".", ".git"}]
    return re.sub(r"[^\w.+-]", "-", parts[-1].removesuffix(".git")) if parts else ""


def _first(environ: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((environ[name] for name in names if environ.get(name)), "")
