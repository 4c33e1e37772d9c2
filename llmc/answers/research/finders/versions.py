"""Which version? The line of a manifest: the project's own version, a dependency, or the required language version."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmc.answers.research.finders.answers import answer, line_place
from llmc.answers.research.result import Confidence
from llmc.base.languages import role_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.answers.research.result import ResultPlace, RoleOutcome
    from llmc.answers.research.roles import Brief
    from llmc.answers.research.toolbox import Area, RoleToolbox

__all__ = ["required_version"]

# In order of authority: files that build tools read come before files that people write.
MANIFESTS = re.compile(
    r"(?:^|/)(?:pyproject\.toml|setup\.py|setup\.cfg|package\.json|Cargo\.toml|go\.mod|pom\.xml|build\.gradle(?:\.kts)?"
    r"|libs\.versions\.toml|composer\.json|Gemfile|[\w.-]+\.gemspec|mix\.exs|pubspec\.yaml|Package\.swift|[\w.-]+\.csproj"
    r"|Directory\.(?:Packages|Build)\.props|requirements[\w./-]*\.(?:txt|in)|Pipfile|environment\.ya?ml|conanfile\.(?:txt|py)|vcpkg\.json"
    r"|CMakeLists\.txt|rust-toolchain(?:\.toml)?|\.(?:python|node|ruby|go)-version|\.nvmrc|\.tool-versions|runtime\.txt|deno\.json|[\w.-]+\.cabal)$"
)
# How manifests declare the language version that they require.
LANGUAGES = {
    "python": r"(?:requires-python|python_requires|^python\s*=|python_version\s*=|^\d+\.\d+)",
    "node": r"(?:\"node\"\s*:|^v?\d+(?:\.\d+)*\s*$|^lts)",
    "nodejs": r"(?:\"node\"\s*:|^v?\d+(?:\.\d+)*\s*$|^lts)",
    "go": r"^(?:go|toolchain)\s+(?:go)?\d",
    "golang": r"^(?:go|toolchain)\s+(?:go)?\d",
    "rust": r"^(?:rust-version|channel)\s*=",
    "msrv": r"^rust-version\s*=",
    "edition": r"^edition\s*=",
    "java": r"(?:sourceCompatibility|maven\.compiler\.(?:source|release)|java\.version|languageVersion)",
    "ruby": r"(?:required_ruby_version|^ruby\s+['\"])",
    "php": r"\"php\"\s*:",
    "elixir": r"elixir:\s*\"",
    "dart": r"^\s*sdk:",
    "swift": r"swift-tools-version",
    "typescript": r"\"typescript\"\s*:",
    "npm": r"\"npm\"\s*:",
}
_OWN = re.compile(
    r"^\s*(?:\"version\"\s*:|version\s*[=:]|<version>|__version__\s*=|VERSION\s*=|spec\.version\s*=)\s*\S"
)
_VERSIONED = re.compile(r"\d|\*|\blatest\b")
_LOCKED = re.compile(r"(?:^|/)(?:uv|poetry|pdm|cargo|package|yarn|composer)[-.\w]*lock", re.IGNORECASE)
_NOISE = frozenset(
    """
    which what version versions of does do is are the a an require requires required need needs needed minimum
    minimal lowest oldest supported support supports depend depends dependency on use uses used this project
    repository current latest library package for in by to and at least number release it with compatible run
    must have edition language runtime
    """.split()  # noqa: SIM905 a column of quoted words would hide the list
)
_TABLE = re.compile(r"\[[\w.:\"' -]+\]\s*$")
# Tables of a manifest for packagers or tools rather than for installing the project.
_PACKAGING = re.compile(r"\[(?:bdist\w*|tool:\w+|flake8|mypy|isort|coverage|wheel|sdist)", re.IGNORECASE)
MOST_FILES = 40


def required_version(brief: Brief, toolbox: RoleToolbox) -> RoleOutcome | None:
    words = [word.lower() for word in re.findall(r"[\w@/.+-]+", brief.question.text.strip(" ?."))]
    subjects = [word.strip(".") for word in words if word.strip(".") not in _NOISE]
    files = list(manifests(toolbox))
    names = project_names(toolbox)
    others = [word for word in subjects if word not in names]
    for word in others:
        language = word.replace(".", "").removesuffix("js") if word not in LANGUAGES else word
        if language in LANGUAGES and (found := first_line(toolbox, files, LANGUAGES[language])):
            return version_answer(brief, found, f"{word.title()} version required")
    for word in others:
        if found := first_line(toolbox, files, dependency(word)):
            return version_answer(brief, found, f"required version of {word}")
    found = [] if others else first_line(toolbox, files, _OWN.pattern)
    return version_answer(brief, found, "version of this project") if found else None


def version_answer(brief: Brief, found: list[ResultPlace], what: str) -> RoleOutcome:
    first = found[0]
    further = [one for one in found[1:4] if one.says != first.says]
    summary = f"The {what} is in {brief.reference(first)}: {first.says}"
    return answer(brief, summary, [first, *further], Confidence.HIGH)


def dependency(word: str) -> str:
    """A dependency's name as manifests write it, with a version after it in the same line."""
    name = re.sub(r"\\-|_", "[-_]", re.escape(word))
    declared = rf"(?:^|[\"'\s/@(,>]){name}(?:\[[^\]]*\])?(?:/v\d+)?[\"']?\s*(?:[=<>~^!:,@(\s{{]|[\"'])+[^#]*\d"
    # A property of a Java build: `<slf4j.version>1.7</slf4j.version>`, `slf4jVersion = "1.7"`.
    return rf"{declared}|(?:^|[<.\s]){name}[._-]?version\b[\"']?\s*(?:>|[=:])\s*[\"']?[^<\"']*\d"


def manifests(toolbox: RoleToolbox) -> Iterator[tuple[Area, str]]:
    """Manifests of the root folder first; requirements of docs, tests and examples last."""
    found = [
        (area, path)
        for area in toolbox.areas
        for path in toolbox.places(area).paths()
        if MANIFESTS.search(path) and area.paths.accepts(path) and not _LOCKED.search(path)
    ]

    def rank(one: tuple[Area, str]) -> tuple[bool, int, bool, str]:
        path = one[1]
        return (
            role_of(path) not in {"config", "code", "doc"},
            path.count("/"),
            "default" not in path and "/" in path,
            path,
        )

    return iter(sorted(found, key=rank)[:MOST_FILES])


def first_line(toolbox: RoleToolbox, files: list[tuple[Area, str]], pattern: str) -> list[ResultPlace]:
    """The matching lines of the first manifest that has any, and of others in the same folder."""
    rule = re.compile(pattern, re.IGNORECASE)
    found: list[ResultPlace] = []
    for area, path in files:
        if found and path.count("/") > found[0].path.count("/"):
            break
        inside = ""
        for number, text in enumerate(toolbox.shown(area, path), 1):
            inside = text.strip() if _TABLE.match(text) else inside
            if _PACKAGING.search(inside):
                continue
            if rule.search(text.strip()) and _VERSIONED.search(text) and not text.lstrip().startswith(("#", "//")):
                found.append(line_place(toolbox, area, path, number, "", "manifest"))
                break
    return found


def project_names(toolbox: RoleToolbox) -> set[str]:
    """The names of the roots and of the packages in their manifests."""
    names: set[str] = set()
    for area, path in manifests(toolbox):
        if "/" in path:
            continue
        for text in toolbox.shown(area, path)[:60]:
            if match := re.match(r"\s*\"?(?:name|NAME|module)\"?\s*(?:[=:]\s*|\s)[\"']?(?P<name>[\w@/.-]+)", text):
                names |= {part.lower() for part in (match["name"], *match["name"].split("/"))}
    for area in toolbox.areas:
        names.add(area.view.root.path.rpartition("/")[2].lower())
    return names
