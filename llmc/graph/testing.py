"""Is this a test? Decided by its markers (`#[test]`, `@Test`, `cfg(test)`), its framework, and its path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmc.base.languages import role_of

if TYPE_CHECKING:
    from llmc.graph.facts import Facts

__all__ = ["is_test", "is_test_case"]

# Languages with tests in separate files; looking for markers would unpack every document that is called.
UNMARKED = frozenset({"go", "c"})


def is_test(facts: Facts, qualified: str) -> bool:
    """Whether a definition belongs to tests: a case, a helper among them, or anything in a test file."""
    return role_of(facts.path) == "test" or is_marked(facts, qualified)


def is_marked(facts: Facts, qualified: str) -> bool:
    """Whether the definition or something around it is marked as a test."""
    if facts.language in UNMARKED:
        return False
    while qualified:
        if qualified in facts.links.tests or facts.kind(qualified) == "test":
            return True
        qualified = qualified.rpartition(".")[0]
    return False


def is_test_case(facts: Facts, qualified: str) -> bool:
    """Whether a runner would run it by itself."""
    name = qualified.rpartition(".")[2]
    if qualified in facts.links.tests or facts.kind(qualified) == "test":
        return True
    if facts.language == "python":
        return name.startswith("test") and role_of(facts.path) == "test"
    if facts.language == "go":
        return facts.path.endswith("_test.go") and name.startswith(("Test", "Benchmark", "Fuzz", "Example"))
    if facts.language == "java":
        return role_of(facts.path) == "test" and name.startswith("test")
    return False
