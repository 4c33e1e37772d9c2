"""Definitions with their documentation, out of source files, by tree-sitter.

Owns which nodes of which language are definitions, where their documentation is and how it is freed of comment
signs. What questions are made of them is the business of `examples`. Two more things are taken as definitions: a
section of markdown that holds code (heading and prose are the documentation, the fenced block is the code), and a file
whose head says what it is for (that head is the documentation, the first lines of its definitions are the code).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tree_sitter import Parser, Query, QueryCursor
from tree_sitter_language_pack import get_language

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

__all__ = ["LANGUAGES", "Definition", "definitions", "language_of", "signature"]

LANGUAGES = {
    "py": "python", "js": "javascript", "mjs": "javascript", "cjs": "javascript", "jsx": "javascript",
    "ts": "typescript", "tsx": "tsx", "go": "go", "rs": "rust", "java": "java", "c": "c", "h": "c", "cc": "cpp",
    "cpp": "cpp", "cxx": "cpp", "hpp": "cpp", "hh": "cpp", "rb": "ruby", "php": "php", "lua": "lua", "sh": "bash",
    "bash": "bash", "hs": "haskell", "scala": "scala", "kt": "kotlin", "cs": "csharp", "swift": "swift", "ml": "ocaml",
    "md": "markdown", "rst": "rst",
}  # fmt: skip
CLASS_LIKE = {
    "class_definition", "class_declaration", "class_specifier", "struct_specifier", "class", "module", "impl_item",
    "trait_item", "struct_item", "enum_item", "interface_declaration", "enum_declaration", "trait_declaration",
    "object_definition", "trait_definition", "struct_declaration", "type_declaration", "object_declaration",
    "protocol_declaration", "abstract_class_declaration", "namespace_definition", "record_declaration",
}  # fmt: skip
_SCRIPT = (
    "[(function_declaration) (generator_function_declaration) (class_declaration) (method_definition)"
    " (lexical_declaration (variable_declarator value: [(arrow_function) (function_expression)]))"
    " (expression_statement (assignment_expression right: [(arrow_function) (function_expression)]))] @d"
)
_TYPED = _SCRIPT.replace("] @d", " (interface_declaration) (abstract_class_declaration) (enum_declaration)] @d")
QUERIES = {
    "python": "[(function_definition) (class_definition)] @d",
    "javascript": _SCRIPT,
    "typescript": _TYPED,
    "tsx": _TYPED,
    "go": "[(function_declaration) (method_declaration) (type_declaration)] @d",
    "rust": "[(function_item) (struct_item) (enum_item) (trait_item) (impl_item) (macro_definition)] @d",
    "java": "[(method_declaration) (constructor_declaration) (class_declaration) (interface_declaration)"
    " (enum_declaration)] @d",
    "c": "(function_definition) @d",
    "cpp": "[(function_definition) (class_specifier body: (_)) (struct_specifier body: (_))] @d",
    "ruby": "[(method) (singleton_method) (class) (module)] @d",
    "php": "[(function_definition) (method_declaration) (class_declaration) (interface_declaration)"
    " (trait_declaration)] @d",
    "lua": "(function_declaration) @d",
    "bash": "(function_definition) @d",
    "haskell": "(function) @d",
    "scala": "[(function_definition) (class_definition) (object_definition) (trait_definition)] @d",
    "kotlin": "[(function_declaration) (class_declaration) (object_declaration)] @d",
    "csharp": "[(method_declaration) (class_declaration) (interface_declaration) (struct_declaration)] @d",
    "swift": "[(function_declaration) (class_declaration) (protocol_declaration)] @d",
    "ocaml": "(value_definition) @d",
}
NAMES = {
    "identifier", "type_identifier", "simple_identifier", "word", "value_name", "field_identifier",
    "property_identifier", "qualified_identifier", "variable", "type_spec",
}  # fmt: skip
MAX_CODE = 2_400  # characters; a chunk of the indexer has some 1,500


@dataclass(frozen=True, slots=True)
class Definition:
    language: str
    path: str
    name: str  # dotted, with the enclosing names
    doc: str  # the prose, free of comment signs; empty if there is none
    code: str  # the text without that prose
    kind: str = "definition"  # or "prose": a markdown section with its code; or "file"


def language_of(path: Path) -> str | None:
    return LANGUAGES.get(path.suffix.lower().lstrip("."))


def definitions(path: Path, name: str) -> Iterator[Definition]:
    language = language_of(path)
    data = path.read_bytes()
    if language is None or b"\0" in data[:4096]:
        return
    if language in {"markdown", "rst"}:
        yield from _sections(data.decode("utf-8", "replace"), name, language)
        return
    parser, query = _tools(language)
    tree = parser.parse(data)
    nodes = QueryCursor(query).captures(tree.root_node).get("d", [])
    ordered = sorted(nodes, key=lambda node: (node.start_byte, -node.end_byte))  # captures come in no fixed order
    found = [one for node in ordered if (one := _definition(node, data, name, language)) is not None]
    yield from found
    if len(found) > 1 and (head := _head(tree.root_node, data)):
        outline = "\n".join(signature(one.code) for one in found)
        yield Definition(language, name, Path(name).stem, head, outline[:MAX_CODE], "file")


def signature(code: str) -> str:
    """The first line that is no decorator, attribute or directive."""
    lines = (line.strip() for line in code.splitlines())
    return next((line for line in lines if len(line) > 3 and line[0] not in "@#["), "")


def _head(root: Node, data: bytes) -> str:
    """What the file says of itself at its top: Python's docstring, or the last comment before the code."""
    head, end = "", -1
    for node in root.named_children[:40]:
        inner = node.named_children[0] if node.type == "expression_statement" and node.named_children else node
        if inner.type == "string":
            return _unquoted(_text(inner, data))
        if "comment" not in node.type:
            break
        text = _plain(_text(node, data))
        head = f"{head}\n{text}" if node.start_point[0] - end <= 1 else text
        end = node.end_point[0] - (1 if node.end_point[1] == 0 else 0)
    return head


@cache
def _tools(language: str) -> tuple[Parser, Query]:
    grammar: Any = get_language(language)  # type: ignore[arg-type]
    return Parser(grammar), Query(grammar, QUERIES[language])


def _definition(node: Node, data: bytes, path: str, language: str) -> Definition | None:
    outer = node
    while outer.parent is not None and outer.parent.type in {"export_statement", "decorated_definition"}:
        outer = outer.parent
    own = _name(node, data)
    if not own or outer.end_byte - outer.start_byte < 40:
        return None
    doc, code = _docstring(node, outer, data) if language == "python" else ("", _text(outer, data))
    if language != "python":
        doc = _comments_above(outer, data)
    return Definition(language, path, ".".join([*_enclosing(outer, data), own]), doc, code[:MAX_CODE])


def _text(node: Node, data: bytes) -> str:
    return data[node.start_byte : node.end_byte].decode("utf-8", "replace")


def _name(node: Node, data: bytes) -> str:
    named = node.child_by_field_name("name")
    if named is None and node.type == "impl_item":
        named = node.child_by_field_name("type")
    if named is None:
        named = _first(node, NAMES, 5)
        if named is not None and named.type == "type_spec":
            named = named.child_by_field_name("name")
    # C and C++: the declarator is `*name(args)`; the first identifier may be the type.
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type not in {"identifier", "qualified_identifier", "field_identifier"}:
        declarator = declarator.child_by_field_name("declarator")
    named = declarator or named
    return _text(named, data)[:120] if named is not None else ""


def _first(node: Node, kinds: set[str], depth: int) -> Node | None:
    for child in node.named_children:
        if child.type in kinds:
            return child
        if depth and child.type not in {"block", "body", "comment"}:
            found = _first(child, kinds, depth - 1)
            if found is not None:
                return found
    return None


def _enclosing(node: Node, data: bytes) -> list[str]:
    names: list[str] = []
    parent = node.parent
    while parent is not None and len(names) < 4:
        if parent.type in CLASS_LIKE and parent.parent is not None and (name := _name(parent, data)):
            names.insert(0, name)
        parent = parent.parent
    return names


def _docstring(node: Node, outer: Node, data: bytes) -> tuple[str, str]:
    code = _text(outer, data)
    body = node.child_by_field_name("body")
    first = body.named_children[0] if body is not None and body.named_children else None
    string = first.named_children[0] if first is not None and first.type == "expression_statement" else None
    if string is None and first is not None and first.type == "string":
        string = first
    if string is None or string.type != "string":
        return "", code
    prose = _unquoted(_text(string, data))
    cut = (string.start_byte - outer.start_byte, string.end_byte - outer.start_byte)
    raw = data[outer.start_byte : outer.end_byte]
    return prose, (raw[: cut[0]] + raw[cut[1] :]).decode("utf-8", "replace")


def _unquoted(literal: str) -> str:
    return re.sub(r"^[rRuUbB]*(\"\"\"|'''|\"|')|(\"\"\"|'''|\"|')$", "", literal)


def _comments_above(node: Node, data: bytes) -> str:
    """The run of comments that ends on the line above (attributes of Rust and annotations may stand between)."""
    lines: list[str] = []
    at, above = node.start_point[0], node.prev_sibling
    while above is not None and (above.type in {"attribute_item", "attribute_list"} or "comment" in above.type):
        end_row = above.end_point[0] - (1 if above.end_point[1] == 0 else 0)
        if at - end_row > 1:
            break
        if "comment" in above.type:
            lines.insert(0, _text(above, data))
        at, above = above.start_point[0], above.prev_sibling
    return _plain("\n".join(lines))


def _plain(comment: str) -> str:
    comment = re.sub(r"^\s*(///?!?|/\*[*!]*|\*+/|\*+|--+\s*\|?|#+|;+|\(\*+)\s?", "", comment, flags=re.MULTILINE)
    return re.sub(r"\s*(\*+/|\*\)|-})\s*$", "", comment, flags=re.MULTILINE).strip()


def _sections(text: str, path: str, language: str) -> Iterator[Definition]:
    """Heading, prose and code block that follow each other."""
    fence = (
        r"```[a-zA-Z]*\n(.{1,6000}?)```"
        if language == "markdown"
        else r"(?:::|code-block:: \w+)\n\n((?:[ \t]+[^\n]*\n|\n)+)"
    )
    title = ""
    for match in re.finditer(rf"(?ms)^#+ +([^\n]+)$|^([^\n]+)\n[=~^\"-]{{4,}}$|{fence}", text):
        if (heading := match[1] or match[2]) is not None:
            title = heading.strip()
        elif match[3] and len(match[3]) > 60:
            before = text[max(0, match.start() - 300) : match.start()].strip().rsplit("\n\n", 1)[-1]
            prose = f"{title}. {before}" if before.strip("#= \n") != title else title
            yield Definition(language, path, title, prose, match[3][:MAX_CODE], "prose")
