"""dialects: what does a language decide about names? One file for each family of languages."""

from __future__ import annotations

from llmc.graph.dialects.base import Dialect
from llmc.graph.dialects.cfamily import CFamily
from llmc.graph.dialects.csharp import CSharp
from llmc.graph.dialects.ecma import Ecma
from llmc.graph.dialects.golang import Go
from llmc.graph.dialects.java import Java
from llmc.graph.dialects.python import Python
from llmc.graph.dialects.rust import Rust

__all__ = ["dialect_class", "family_of"]

_FAMILIES = {
    "notebook": "python",
    **dict.fromkeys(("javascript", "typescript", "jsx", "tsx", "vue", "svelte", "astro", "html"), "ecma"),
    **dict.fromkeys(("c", "cpp", "cuda", "objc"), "c"),
}
_DIALECTS: dict[str, type[Dialect]] = {one.family: one for one in (Python, Ecma, Go, Rust, Java, CSharp, CFamily)}


def family_of(language: str) -> str:
    """Languages whose names may mean each other."""
    return _FAMILIES.get(language, language)


def dialect_class(family: str) -> type[Dialect]:
    return _DIALECTS.get(family, Dialect)
