"""JavaScript and TypeScript: relative imports, index files, tsconfig paths, packages of the same repository."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any

from llmc.graph.dialects.base import Dialect, module_entity
from llmc.graph.entities import EXTERNAL, UNRESOLVED, Resolution

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.graph.facts import Facts
    from llmc.graph.resolve import Resolver

__all__ = ["Ecma"]

ENDINGS = (".ts", ".tsx", ".mts", ".cts", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".vue", ".svelte", ".astro")
WRITTEN = {".js": (".ts", ".tsx", ".d.ts"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",)}
CONFIGS = ("tsconfig.json", "jsconfig.json", "tsconfig.base.json")
DEEPEST = 8  # longest chain of configurations that extend each other
ENTRIES = ("source", "types", "module", "main")


class Ecma(Dialect):
    family = "ecma"
    selves = frozenset({"this"})
    own_types = frozenset({"Self"})
    constructors = frozenset({"constructor"})

    def module(self, facts: Facts, module: str) -> Resolution:
        key = ("ecma", facts.path.rpartition("/")[0], module)
        return self.project.once(key, lambda: self._module(facts.path, module))

    def _module(self, path: str, module: str) -> Resolution:
        folder = path.rpartition("/")[0]
        if module.startswith("."):
            return self._file(posixpath.normpath(posixpath.join(folder, module))) or UNRESOLVED
        for place in self._mapped(folder, module):
            if found := self._file(place):
                return found
        return self._package(module) or EXTERNAL

    def _file(self, place: str) -> Resolution | None:
        """The file of an import path: with or without its extension, or a folder with an index file."""
        place = "" if place == "." else place
        if place.startswith(".."):
            return None
        stem, dot, ending = place.rpartition(".")
        written = [stem + one for one in WRITTEN.get(f".{ending}", ())] if dot else []
        index = f"{place}/index" if place else "index"
        tried = [*written, place, *(place + one for one in ENDINGS), *(index + one for one in ENDINGS)]
        doc = self.project.first([one for one in tried if one])
        return None if doc is None else module_entity(self.family, self.project.path(doc))

    def _mapped(self, folder: str, module: str) -> Iterator[str]:
        """The files that `paths` and `baseUrl` of the nearest configuration map a module to."""
        parts = folder.split("/") if folder else []
        for depth in range(len(parts), -1, -1):
            base = "/".join(parts[:depth])
            for name in CONFIGS:
                settings = self._settings(posixpath.join(base, name), DEEPEST)
                if settings:
                    yield from self._by_settings(settings, module)
                    return

    def _by_settings(self, settings: dict[str, Any], module: str) -> Iterator[str]:
        base = settings["base"]
        for pattern, targets in settings["paths"].items():
            front, star, back = pattern.partition("*")
            if (star and module.startswith(front) and module.endswith(back)) or module == pattern:
                inner = module[len(front) : len(module) - len(back)] if star else ""
                for target in targets if isinstance(targets, list) else ():
                    yield posixpath.normpath(posixpath.join(settings["from"], str(target).replace("*", inner)))
        if base is not None:
            yield posixpath.normpath(posixpath.join(base, module))

    def _settings(self, path: str, depth: int) -> dict[str, Any] | None:
        """`paths`, the folder that they are relative to (`from`), and `base` if there is a baseUrl."""
        if self.project.first([path]) is None or depth == 0:
            return None
        config = self.project.config(path)
        if config is None:
            return None
        folder = path.rpartition("/")[0]
        found: dict[str, Any] = {"paths": {}, "from": folder, "base": None}
        extended = config.get("extends")
        for one in extended if isinstance(extended, list) else [extended]:
            if isinstance(one, str) and one.startswith("."):
                place = posixpath.normpath(posixpath.join(folder, one if one.endswith(".json") else f"{one}.json"))
                found |= self._settings(place, depth - 1) or {}
        options = config.get("compilerOptions")
        if isinstance(options, dict):
            if isinstance(options.get("baseUrl"), str):
                found["base"] = found["from"] = posixpath.normpath(posixpath.join(folder, options["baseUrl"]))
            if isinstance(options.get("paths"), dict):
                found["paths"] = options["paths"]
                found["from"] = found["base"] if found["base"] is not None else folder
        return found

    def _package(self, module: str) -> Resolution | None:
        """A package of this repository, by name."""
        packages = self.project.memo.get("npm")
        if packages is None:
            packages = self._packages()
            self.project.memo["npm"] = packages
        parts = module.split("/")
        width = 2 if module.startswith("@") else 1
        folder = packages.get("/".join(parts[:width]))
        if folder is None:
            return None
        return self._entry(folder, "/".join(parts[width:]))

    def _packages(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for path in self.project.named("package.json"):
            config = self.project.config(path)
            if config and isinstance(config.get("name"), str):
                found.setdefault(config["name"], path.rpartition("/")[0])
        return found

    def _entry(self, folder: str, inner: str) -> Resolution | None:
        """The source file of an entry point rather than the built one."""
        if inner:
            tried = [f"{folder}/src/{inner}", f"{folder}/{inner}", f"{folder}/src/{inner}/index"]
        else:
            config = self.project.config(f"{folder}/package.json" if folder else "package.json") or {}
            mains = [str(config[key]).removeprefix("./") for key in ENTRIES if isinstance(config.get(key), str)]
            tried = [f"{folder}/src/index", *(f"{folder}/{main}" for main in mains), f"{folder}/index"]
            tried += [f"{folder}/src/{main.partition('/')[2].partition('.')[0]}" for main in mains if "/" in main]
        for place in tried:
            if found := self._file(place.strip("/")):
                return found
        return None

    def export(self, resolver: Resolver, place: str, name: str) -> Resolution:  # noqa: PLR0911 - one for each form
        facts = self.project.facts_at(place)
        if facts is None:
            return UNRESOLVED
        if name == "=":  # the whole module, in CommonJS
            return self._assigned(resolver, facts, place)
        for link in facts.links.exports.get(name, ()):
            if link.value != f"#{name}":
                return self.imported(resolver, facts, link.value)
        found = resolver.own(facts, name)
        if found.entities or found.closed:
            return found
        for link in facts.links.exports.get("*", ()):
            starred = self.imported(resolver, facts, link.value.rpartition("#")[0] + "#" + name)
            if starred.nodes():
                return starred
        if name == "default" and "=" in facts.links.exports:
            return self._assigned(resolver, facts, place)
        return UNRESOLVED

    def _assigned(self, resolver: Resolver, facts: Facts, place: str) -> Resolution:
        links = facts.links.exports.get("=", ())
        found = resolver.evaluate(facts, "", links[0].value[1:]) if links else UNRESOLVED
        return found if found.nodes() else module_entity(self.family, place)
