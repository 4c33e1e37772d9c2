"""Python: modules are files and folders, found from the folders that are not packages themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmc.graph.dialects.base import Dialect, module_entity
from llmc.graph.entities import EXTERNAL, UNRESOLVED, Resolution

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.graph.facts import Facts
    from llmc.graph.resolve import Resolver

__all__ = ["Python"]

PACKAGE = "__init__.py"
SOURCES = ("", "src", "lib", "python")


class Python(Dialect):
    family = "python"
    selves = frozenset({"self"})
    own_types = frozenset({"cls", "Self"})

    def module(self, facts: Facts, module: str) -> Resolution:
        key = ("python", facts.path.rpartition("/")[0], module)
        return self.project.once(key, lambda: self._module(facts.path, module))

    def _module(self, path: str, module: str) -> Resolution:
        name = module.lstrip(".")
        dots = len(module) - len(name)
        parts = name.split(".") if name else []
        if dots:
            folders = path.split("/")[:-dots]
            return self._at("/".join([*folders, *parts])) or UNRESOLVED
        for base in self._bases(path):
            if found := self._at("/".join([base, *parts] if base else parts)):
                return found
        return self._anywhere(parts) or EXTERNAL

    def _at(self, place: str) -> Resolution | None:
        """The module at a path without an extension: a file, a package, or a folder without `__init__.py`."""
        project = self.project
        doc = project.first([f"{place}.py", f"{place}/{PACKAGE}" if place else PACKAGE, f"{place}.pyi"])
        if doc is not None:
            return module_entity(self.family, project.path(doc))
        return module_entity(self.family, f"{place}/") if place and self._is_folder(place) else None

    def _is_folder(self, place: str) -> bool:
        """Whether a folder contains Python files; only checked for folders that an import names."""
        folders = self.project.memo.get("python folders")
        if folders is None:
            paths = (path for path in self.project.path_set if path.endswith(".py"))
            folders = {path.rpartition("/")[0] for path in paths}
            folders |= {one.rpartition("/")[0] for one in folders}
            self.project.memo["python folders"] = folders
        return place in folders

    def _bases(self, path: str) -> Iterator[str]:
        """Folders that may be on the interpreter's path, nearest first; packages are excluded."""
        folders = path.split("/")[:-1]
        for depth in range(len(folders), -1, -1):
            base = "/".join(folders[:depth])
            if self.project.first([f"{base}/{PACKAGE}" if base else PACKAGE]) is None:
                yield from ("/".join(part for part in (base, one) if part) for one in SOURCES)

    def _anywhere(self, parts: list[str]) -> Resolution | None:
        """A top-level package elsewhere in the repository, if exactly one has this name."""
        tops = self.project.memo.get("python tops")
        if tops is None:
            tops = self._tops()
            self.project.memo["python tops"] = tops
        found = [base for base in tops.get(parts[0], ()) if self._at("/".join([base, *parts] if base else parts))]
        return self._at("/".join([found[0], *parts] if found[0] else parts)) if len(found) == 1 else None

    def _tops(self) -> dict[str, list[str]]:
        packages = {path.removesuffix(f"/{PACKAGE}") for path in self.project.named(PACKAGE) if "/" in path}
        tops: dict[str, list[str]] = {}
        for package in packages:
            base, _, name = package.rpartition("/")
            if base not in packages:
                tops.setdefault(name, []).append(base)
        return tops

    def export(self, resolver: Resolver, place: str, name: str) -> Resolution:
        if place.endswith("/"):
            return self._at(place + name) or UNRESOLVED
        facts = self.project.facts_at(place)
        if facts is None:
            return UNRESOLVED
        found = resolver.name(facts, "", name)
        if found.entities or found.closed or not place.endswith(PACKAGE):
            return found
        return self._at(f"{place.removesuffix(PACKAGE)}{name}") or UNRESOLVED
