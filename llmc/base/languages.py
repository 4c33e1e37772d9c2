"""The language of a file and its role in a repository, derived from its path.

Both are looked up in tables by name, because they are needed for every file and every candidate. If the name is not
sufficient (a script without an extension, a header that may be C or C++), the first characters of the text decide. The
grammar of each language is listed here too; `indexer/syntax` uses it, and `text` decides what is binary.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["GRAMMARS", "NAMES", "ROLES", "has_statements", "language_of", "looks_generated", "named", "role_of"]

# language | extensions (with a leading dot) and file names | aliases | interpreters in a shebang line
_TABLE = """
ada          | .adb .ads                                                       |             |
asciidoc     | .adoc .asciidoc                                                 |             |
asm          | .asm .s .nasm                                                   | assembly    |
astro        | .astro                                                          |             |
bash         | .sh .bash .zsh .ksh .bats .bashrc .zshrc .profile .bash_profile | sh shell zsh| bash sh zsh ksh dash bats
batch        | .bat .cmd                                                       |             |
bazel        | .bazel .bzl BUILD WORKSPACE                                     | starlark    |
bibtex       | .bib                                                            |             |
c            | .c .h .xbm                                                      |             |
clojure      | .clj .cljs .cljc .edn                                           | clj         | bb clojure
cmake        | .cmake CMakeLists.txt                                           |             |
cobol        | .cbl .cob                                                       |             |
commonlisp   | .lisp .cl .asd                                                  | lisp        | sbcl
cpp          | .cc .cpp .cxx .c++ .hh .hpp .hxx .h++ .ipp .inl .tcc .tpp .ino .cppm | c++ cxx |
crystal      | .cr                                                             |             | crystal
csharp       | .cs .csx                                                        | c# cs       |
css          | .css                                                            |             |
csv          | .csv .tsv .psv                                                  |             |
cuda         | .cu .cuh                                                        |             |
d            | .d .di                                                          |             | rdmd
dart         | .dart                                                           |             | dart
diff         | .diff .patch                                                    |             |
dockerfile   | .dockerfile Dockerfile Containerfile                            | docker      |
eex          | .eex .leex .heex                                                |             |
elisp        | .el                                                             | emacs       |
elixir       | .ex .exs                                                        |             | elixir
elm          | .elm                                                            |             |
erb          | .erb .rhtml                                                     |             |
erlang       | .erl .hrl .escript rebar.config                                 | erl         | escript
fish         | .fish                                                           |             | fish
fortran      | .f .for .f90 .f95 .f03 .f08                                     |             |
fsharp       | .fs .fsi .fsx                                                   | f#          |
gettext      | .po .pot                                                        | po          |
gleam        | .gleam                                                          |             |
glsl         | .glsl .vert .frag .geom .comp                                   |             |
go           | .go                                                             | golang      |
gomod        | go.mod go.work                                                  |             |
graphql      | .graphql .gql .graphqls                                         | gql         |
groovy       | .groovy .gradle Jenkinsfile                                     | gradle      | groovy
haskell      | .hs .hsc .lhs                                                   | hs          | runhaskell stack
hcl          | .hcl .tf .tfvars .nomad                                         | terraform tf|
html         | .html .htm .xhtml .hbs .mustache .njk .jinja .jinja2 .j2        |             |
ini          | .ini .cfg .conf .cnf .editorconfig .gitconfig .service .desktop |             |
java         | .java                                                           |             |
javascript   | .js .mjs .cjs .es6 .jsm Jakefile                                | js node     | node nodejs deno bun
json         | .json .jsonc .json5 .webmanifest .geojson .babelrc .eslintrc .prettierrc .har .code-workspace | jsonc |
jsonl        | .jsonl .ndjson                                                  |             |
jsx          | .jsx                                                            |             |
julia        | .jl                                                             | jl          | julia
just         | .just justfile Justfile                                         |             |
kotlin       | .kt .kts                                                        | kt          | kotlin
latex        | .tex .sty .cls .ltx                                             | tex         |
less         | .less                                                           |             |
lua          | .lua .rockspec                                                  |             | lua luajit
luau         | .luau                                                           |             |
make         | .mk .mak Makefile makefile GNUmakefile                          | makefile    | make
markdown     | .md .markdown .mdx .mdown .mkd .rmd .qmd                        | md          |
matlab       | .mat                                                            |             |
meson        | meson.build meson_options.txt                                   |             |
nim          | .nim .nims                                                      |             | nim
nix          | .nix                                                            |             |
notebook     | .ipynb                                                          | jupyter     |
objc         | .m .mm                                                          | objective-c objectivec |
ocaml        | .ml .mli .mll .mly                                              | ml          | ocaml
org          | .org                                                            |             |
pascal       | .pas .pp .dpr .lpr                                              | delphi      |
perl         | .pl .pm .t .pod .psgi                                           | pl          | perl
php          | .php .phtml .php3 .php4 .php5 .php7 .phps                       |             | php
powershell   | .ps1 .psm1 .psd1                                                | ps pwsh     | pwsh powershell
prisma       | .prisma                                                         |             |
properties   | .properties                                                     |             |
proto        | .proto                                                          | protobuf    |
puppet       | .epp                                                            |             |
purescript   | .purs                                                           |             |
python       | .py .pyi .pyw .py3 .wsgi SConstruct SConscript wscript | py | python pypy uv
r            | .r .rprofile                                                    |             | rscript
racket       | .rkt                                                            |             | racket
rst          | .rst .rest                                                      | restructuredtext |
ruby         | .rb .rake .gemspec .ru .podspec .jbuilder .thor .builder              | rb          | ruby jruby rake
ruby         | Rakefile Gemfile Guardfile Capfile Vagrantfile Podfile Brewfile Fastfile Dangerfile |    |
rust         | .rs                                                             | rs          | rust-script
scala        | .scala .sc .sbt                                                 |             | scala
scheme       | .scm .ss .sld                                                   |             | guile
scss         | .scss .sass                                                     | sass        |
solidity     | .sol                                                            | sol         |
sql          | .sql .ddl .dml .psql .pgsql .mysql .plsql .pls .pck .pkb .pks   |             |
stylus       | .styl                                                           |             |
svelte       | .svelte                                                         |             |
svg          | .svg                                                            |             |
swift        | .swift                                                          |             | swift
tcl          | .tcl .tk                                                        |             | tclsh wish expect
text         | .txt .text .log                                                 | txt plain   |
thrift       | .thrift                                                         |             |
toml         | .toml Cargo.lock poetry.lock uv.lock Pipfile                    |             |
tsx          | .tsx                                                            |             |
twig         | .twig                                                           |             |
typescript   | .ts .mts .cts                                                   | ts          | ts-node tsx
typst        | .typ                                                            |             |
v            | .vsh                                                            |             |
verilog      | .v .vh .sv .svh                                                 | systemverilog |
vhdl         | .vhd .vhdl                                                      |             |
vim          | .vim .vimrc vimrc                                               | viml vimscript |
visualbasic  | .vb .vbs .bas                                                   | vb          |
vue          | .vue                                                            |             |
wat          | .wat .wast                                                      | wasm        |
wgsl         | .wgsl                                                           |             |
xml          | .xml .xsd .xsl .xslt .wsdl .plist .rss .atom .dtd .resx .xaml .ui .iml    |          |
xml          | .csproj .vbproj .fsproj .props .targets .nuspec .storyboard .xib               |          |
yaml         | .yaml .yml .clang-format .clang-tidy .clangd                    | yml         |
zig          | .zig .zon                                                       |             | zig
"""

# A query for one of these languages includes the other.
_FAMILIES = {"javascript": ("javascript", "jsx"), "typescript": ("typescript", "tsx"), "css": ("css", "scss", "less")}

# language → grammar of tree-sitter-language-pack. Other languages are split by lines.
GRAMMARS = {
    "astro": "typescript",
    "bash": "bash",
    "c": "c",
    "clojure": "clojure",
    "cmake": "cmake",
    "cpp": "cpp",
    "csharp": "csharp",
    "css": "css",
    "cuda": "cpp",
    "dart": "dart",
    "dockerfile": "dockerfile",
    "elixir": "elixir",
    "erlang": "erlang",
    "go": "go",
    "graphql": "graphql",
    "haskell": "haskell",
    "hcl": "hcl",
    "html": "javascript",
    "java": "java",
    "javascript": "javascript",
    "json": "json",
    "jsx": "javascript",
    "julia": "julia",
    "kotlin": "kotlin",
    "lua": "lua",
    "luau": "luau",
    "make": "make",
    "ocaml": "ocaml",
    "perl": "perl",
    "php": "php",
    "proto": "proto",
    "python": "python",
    "r": "r",
    "ruby": "ruby",
    "rust": "rust",
    "scala": "scala",
    "scss": "scss",
    "svelte": "typescript",
    "swift": "swift",
    "toml": "toml",
    "tsx": "tsx",
    "typescript": "typescript",
    "vue": "typescript",
    "zig": "zig",
}

PLAIN = "text"


def _read_table() -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    by_name: dict[str, str] = {}
    by_alias: dict[str, str] = {}
    interpreters: dict[str, str] = {}
    for row in _TABLE.strip().splitlines():
        language, names, others, programs = (column.strip() for column in row.split("|"))
        by_alias |= dict.fromkeys([language, *others.split()], language)
        interpreters |= dict.fromkeys(programs.split(), language)
        by_name |= dict.fromkeys(names.lower().split(), language)
    return by_name, by_alias, interpreters


_BY_NAME, _BY_ALIAS, _INTERPRETERS = _read_table()

NAMES: tuple[str, ...] = tuple(sorted(_BY_ALIAS))

_HEAD = 4096
# Extensions of several languages: the first pattern found near the start decides, else the table.
_CLAIMED: dict[str, tuple[tuple[str, str], ...]] = {
    ".h": (
        ("objc", r"(?m)^\s*@(?:interface|protocol|class)\b|^#import\b"),
        ("cpp", r"(?m)^\s*(?:namespace|template\s*<|class\s+\w+|using\s+\w|public:|private:)|\bstd::|^#include <\w+>"),
    ),
    ".inc": (("php", r"<\?php"), ("cpp", r"(?m)^\s*(?:namespace|template|class)\b|\w::\w"), ("c", r"(?m)^# *[id]\w+ ")),
    ".m": (("matlab", r"(?m)^\s*(?:function\b|%|end\s*$)"),),
    ".t": (("perl", r"(?m)\A#!.*perl|^\s*(?:use|package|plan)\b"), ("text", r"\A")),
    ".pl": (("prolog", r"(?m)^:- "),),
    ".ts": (("xml", r"\A\s*<(?:\?xml|!DOCTYPE TS)"),),
    ".v": (("v", r"(?m)^(?:pub )?fn \w|^module \w+$"),),
}


def language_of(path: str, head: str = "") -> str:
    """The language of a file by its name; `head`, the start of its text, decides ambiguous names."""
    name = path[path.rfind("/") + 1 :].lower()
    dot = name.rfind(".")
    ending = name[dot:] if dot >= 0 else ""
    claims = _CLAIMED.get(ending, ())
    if claims and (claimant := next((one for one, sign in claims if re.search(sign, head[:_HEAD])), "")):
        return claimant
    if found := _BY_NAME.get(name) or _BY_NAME.get(ending):
        return found
    if head.startswith("#!"):
        return _by_first_line(head[:_HEAD].partition("\n")[0])
    return _BY_NAME.get(name[:dot], PLAIN) if dot > 0 else PLAIN  # Dockerfile.prod, Makefile.am


def _by_first_line(line: str) -> str:
    """`#!/usr/bin/env -S python3.12 -u` → python."""
    words = [word.rpartition("/")[2].lower() for word in line[2:].split()]
    if words[:1] == ["env"]:
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    program = words[0] if words else ""
    return _INTERPRETERS.get(program) or _INTERPRETERS.get(program.rstrip("0123456789.-"), PLAIN)


def named(value: str) -> tuple[str, ...]:
    """The languages for a name, an alias or an extension: `py`, `.ts`, `C++`; empty if there is none."""
    value = value.strip().lower().removeprefix("*")
    language = _BY_ALIAS.get(value) or _BY_NAME.get(value) or _BY_NAME.get(f".{value}")
    return _FAMILIES.get(language, (language,)) if language else ()


# The first match is the role, so that a test of a vendored library is vendored, and a fixture of a test a fixture.
ROLES = (
    "vendored", "amalgamated", "snapshot", "generated", "fixture", "test", "example", "stub", "legacy", "translation",
    "doc", "config", "data", "code",
)  # fmt: skip

_FOLDERS = {
    "vendored": """vendor vendors vendored _vendor third_party thirdparty third-party node_modules bower_components
        jspm_packages site-packages godeps pods carthage external extern externals .yarn venv .venv""",
    "amalgamated": "single_include single-include single_header amalgamation amalgamated amalgamate",
    "snapshot": "__snapshots__ snapshots",
    "generated": "generated __generated__ autogen dist",
    "fixture": "testdata fixture fixtures __fixtures__ test_data test-data",
    "test": """test tests __tests__ spec specs e2e testsuite mocks __mocks__ bench benches benchmark benchmarks testapp
        testapps test_app testproject test_project testsite .semgrep""",
    "example": """example examples _example _examples sample samples demo demos tutorial tutorials playground
        playgrounds sandbox cookbook quickstart showcase""",
    "stub": "stub stubs typings typeshed @types",
    "legacy": "legacy _legacy deprecated obsolete attic compat _compat",
    "translation": "locale locales i18n translations",
    "doc": "doc docs documentation rfc rfcs changelogs man",
    "config": ".github .circleci .gitlab .vscode .idea .husky .devcontainer .config",
}
_WHOLE_NAMES = {
    "generated": """package-lock.json npm-shrinkwrap.json pnpm-lock.yaml yarn.lock cargo.lock poetry.lock uv.lock
        pdm.lock gemfile.lock composer.lock pipfile.lock mix.lock flake.lock pubspec.lock podfile.lock
        packages.lock.json .terraform.lock.hcl package.resolved go.sum bun.lock gradlew gradlew.bat pkg-info""",
    "test": "conftest.py tests.py tests.rs spec_helper.rb test_helper.rb test_helper.exs rails_helper.rb",
    "doc": """readme changelog changes history news license licence copying copyright notice authors contributors
        contributing todo thanks""",
    "config": """requirements.txt constraints.txt cmakelists.txt meson.build meson_options.txt robots.txt setup.py
        manifest.in makefile gnumakefile dockerfile containerfile gemfile rakefile podfile brewfile procfile jenkinsfile
        vagrantfile pipfile justfile build workspace codeowners pom.xml build.gradle.kts settings.gradle.kts
        package.swift mix.exs rebar.config go.mod go.work gulpfile.js gruntfile.js build.zig build.zig.zon .gitignore
        .gitattributes .gitmodules .dockerignore .npmignore .npmrc .llmcignore .ignore .env""",
}
_ENDINGS = {
    "generated": """.min.js .min.css .min.mjs .bundle.js .map .pb.go .pb.gw.go .pb.cc .pb.h .pb.dart .pb.swift .g.dart
        .freezed.dart .mocks.dart .designer.cs .g.cs .g.i.cs""",
    "snapshot": ".snap .golden",
    "test": ".t .bats",
    "stub": ".pyi .d.ts .d.mts .d.cts .stub",
    "doc": """.md .markdown .mdx .rst .rest .adoc .asciidoc .org .txt .text .tex .rd .pod .rdoc .textile .man .topic .1
        .3 .5 .7 .8""",
    "config": """.json .jsonc .json5 .yaml .yml .toml .ini .cfg .conf .cnf .properties .env .plist .editorconfig
        .xcconfig .pbxproj .csproj .vbproj .fsproj .props .targets .sln .gemspec .podspec .nuspec .cabal .rockspec
        .lock .service .tfvars .gradle .sbt .cmake .bazel .mk .iml .nix .config.js .config.ts .config.mjs .config.cjs
        .conf.js
        .eslintrc .prettierrc .babelrc""",
    "translation": ".po .pot .resx .strings .xlf .arb",
    "data": """.csv .tsv .psv .jsonl .ndjson .geojson .svg .xml .log .dat .data .har .diff .patch .srt .vtt .pem .crt
        .meta .asset .lst""",
}
# The first or last part of a name, or the last of a folder: test_views.py, views.spec.ts, My.Tests/, zz_generated.go
_PARTS = {
    "generated": "generated pb2",
    "test": "test tests spec specs unittest unittests e2e bench benchmark",
    "example": "example examples sample samples demo",
    "legacy": "legacy deprecated obsolete compat",
}


def _roles_by_word(table: dict[str, str]) -> dict[str, str]:
    return {word: role for role, words in table.items() for word in words.split()}


_BY_FOLDER, _BY_WHOLE, _BY_ENDING, _BY_PART = map(_roles_by_word, (_FOLDERS, _WHOLE_NAMES, _ENDINGS, _PARTS))
_RANK = {role: rank for rank, role in enumerate(ROLES)}
_JOINTS = re.compile(r"[._-]+")
# A copy of another project's release: include/cargo/syn-3.0.6/src/lib.rs
_RELEASE = re.compile(r"[a-z][\w.+-]*-v?\d+\.\d+\.\d+[\w.+-]*", re.IGNORECASE)
_CAMEL_TEST = re.compile(r"Test[A-Z]\w*|\w*[a-z0-9](?:Tests?|Specs?|TestCase|Benchmark|IT)")
# Languages whose test files are named `test_x`. In others, `test-run.ts` is code about running tests.
_TEST_PREFIXED = frozenset(
    {"python", "ruby", "c", "cpp", "objc", "perl", "lua", "julia", "r", "php", "nim", "ocaml", PLAIN}
)
_BUILD_FILES = frozenset({"dockerfile", "make", "cmake", "bazel", "meson"})
_CODE = frozenset(GRAMMARS) - _BUILD_FILES - {"html", "json", "toml"}


def has_statements(language: str) -> bool:
    """Whether its files are made of statements, and not of markup, styles, schemas or expressions."""
    return language in _WITH_STATEMENTS


_WITH_STATEMENTS = frozenset(
    [
        "bash",
        "c",
        "cpp",
        "csharp",
        "cuda",
        "dart",
        "elixir",
        "go",
        "java",
        "javascript",
        "jsx",
        "julia",
        "kotlin",
        "lua",
        "luau",
        "perl",
        "php",
        "python",
        "r",
        "ruby",
        "rust",
        "scala",
        "swift",
        "tsx",
        "typescript",
        "zig",
    ]
)


@lru_cache(maxsize=16_384)
def role_of(path: str) -> str:
    """The purpose of a file, by the conventions of many ecosystems; one of ROLES."""
    folder, _, name = path.rpartition("/")
    found = [*_name_roles(name, alone=not folder)]
    if roles := _folder_roles(folder):
        is_code = language_of(name) in _CODE
        is_library = name.endswith(".py") and not name.startswith(("test", "__init__"))
        # `django/test/client.py` is a library for tests, `app/i18n/load.ts` is code.
        found += [
            role for role, is_package in roles if not (is_package and is_library) and not (role in _OF_DATA and is_code)
        ]
    return min(found, key=_RANK.__getitem__, default="code")


_OF_DATA = frozenset({"translation", "snapshot"})


@lru_cache(maxsize=4096)
def _folder_roles(path: str) -> tuple[tuple[str, bool], ...]:
    """The roles that the folders of a path give to the files below them. The second value is set for files directly in
    a folder called `test` inside another one, which may be a package about tests; packages inside `test`, as in
    `wagtail/test/demosite`, are used by tests."""
    found: list[tuple[str, bool]] = []
    folders = path.split("/")
    for depth, folder in enumerate(folders):
        lowered = folder.lower()
        role = _BY_FOLDER.get(lowered)
        if role is None and len(parts := _JOINTS.split(lowered)) > 1 and _BY_PART.get(parts[-1]) == "test":
            role = "test"
        if role is None and _CAMEL_TEST.fullmatch(folder):
            role = "test"
        if depth and _RELEASE.fullmatch(folder):
            role = "vendored"
        if role:
            found.append((role, folder == "test" and 0 < depth == len(folders) - 1))
    return tuple(found)


def _name_roles(name: str, *, alone: bool) -> Iterator[str]:
    lowered = name.lower()
    parts = _JOINTS.split((lowered.rpartition(".")[0] or lowered).removesuffix("_grpc").lstrip("._-"))
    if len(parts) > 1 or alone or _BY_PART.get(parts[0]) == "legacy":
        prefixed = len(parts) == 1 or _BY_PART.get(parts[0]) != "test" or language_of(name) in _TEST_PREFIXED
        yield from (_BY_PART[part] for part in (*parts[: int(prefixed)], parts[-1]) if part in _BY_PART)
    if "generated" in parts:
        yield "generated"
    if _CAMEL_TEST.fullmatch(name.partition(".")[0]):
        yield "test"
    if role := _BY_WHOLE.get(lowered):
        yield role
    elif lowered.startswith(".") or language_of(name) in _BUILD_FILES:
        yield "config"
    else:
        yield from _ending_roles(lowered)


def _ending_roles(name: str) -> Iterator[str]:
    dot = name.find(".")
    while dot >= 0:
        if role := _BY_ENDING.get(name[dot:]):
            yield role
        dot = name.find(".", dot + 1)


_GENERATED = re.compile(
    r"@generated\b|\b(?:auto-?generated|automatically generated|machine[- ]generated|code generated)\b"
    r"|\bgenerated (?:by|from|with|using)\b.{0,200}\bdo not (?:edit|modify|change)"
    r"|\bdo not (?:edit|modify|change)\b.{0,200}\bgenerated\b"
    r"|^\W{1,8}generated (?:by|from|with) ",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)
_NOTE_WITHIN = 1024  # such notes are at the top; further down, they only mention generated code


def looks_generated(text: str) -> bool:
    """Whether a note at the top of the text marks it as generated."""
    # Nearly all texts lack the word that every such note has, and finding that out takes a tenth of the time.
    return "generated" in text[:_NOTE_WITHIN].lower() and _GENERATED.search(text, 0, _NOTE_WITHIN) is not None
