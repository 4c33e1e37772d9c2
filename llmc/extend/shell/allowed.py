"""The tables of the policy: allowed commands, and flags that allowed programs must not be given."""

from __future__ import annotations

import re
from typing import Final

__all__ = [
    "ALLOWED",
    "BUILDING",
    "CHANGING",
    "ENVIRONMENT",
    "EXACT",
    "FORCED_GIT",
    "GIT_BEFORE",
    "GIT_SAFE",
    "GOALS",
    "LISTING",
    "LOCAL",
    "LOCAL_NAMES",
    "MORE_GOALS",
    "REFUSED",
    "SAME",
]

READING: Final = (
    *(
        "ls",
        "cat",
        "head",
        "tail",
        "wc",
        "nl",
        "tac",
        "rev",
        "cut",
        "tr",
        "sort",
        "uniq",
        "comm",
        "diff",
        "cmp",
        "file",
    ),
    *(
        "stat",
        "du",
        "df",
        "basename",
        "dirname",
        "realpath",
        "readlink",
        "pwd",
        "echo",
        "printf",
        "true",
        "false",
        "test",
    ),
    *("date", "cal", "uname", "nproc", "sleep", "seq", "which", "grep", "egrep", "fgrep", "rg", "find", "tree", "yes"),
    *("md5sum", "sha1sum", "sha256sum", "cksum", "base64", "od", "xxd", "hexdump", "strings", "jq", "column", "expand"),
    *("fold", "paste", "join", "nm", "objdump", "readelf", "size"),
)
GIT: Final = (
    *(
        "status",
        "log",
        "diff",
        "show",
        "blame",
        "annotate",
        "shortlog",
        "describe",
        "rev-parse",
        "rev-list",
        "ls-files",
    ),
    *("ls-tree", "cat-file", "grep", "name-rev", "merge-base", "for-each-ref", "diff-tree", "show-ref", "whatchanged"),
    *("count-objects", "check-ignore", "version", "--version"),
)
GIT_LISTS: Final = (
    *("branch --list", "tag --list", "tag -l", "stash list", "stash show", "reflog show", "submodule status"),
)
# Allowed only exactly as written: further words would create or change something.
EXACT: Final = frozenset({
    *("git branch", "git branch -a", "git branch -r", "git branch -v", "git branch -vv", "git branch --show-current"),
    *("git tag", "git remote", "git remote -v", "git worktree list", "npm --version"),
})  # fmt: skip
MODULES: Final = (
    *("pytest", "unittest", "mypy", "ruff", "compileall", "py_compile", "pyflakes", "flake8", "pylint", "doctest"),
    *("black --check", "isort --check", "tabnanny"),
)
BUILDING: Final = {
    "go": ("test", "build", "vet", "list", "version", "env", "doc", "mod graph", "mod verify"),
    "cargo": (
        "test",
        "check",
        "build",
        "clippy",
        "tree",
        "metadata",
        "fmt --check",
        "doc",
        "bench",
        "nextest",
        "version",
    ),
    "npm": ("test", "t", "run", "run-script", "ls", "list", "outdated"),
    "pnpm": ("test", "run", "ls", "list"),
    "yarn": ("test", "run", "list"),
    "mvn": ("test", "compile", "verify", "package", "dependency:tree", "validate"),
    "gradle": ("test", "build", "check", "compileJava", "tasks", "dependencies", "assemble"),
    "./gradlew": ("test", "build", "check", "compileJava", "tasks", "dependencies", "assemble"),
    "./mvnw": ("test", "compile", "verify", "package", "dependency:tree", "validate"),
    "dotnet": ("test", "build"),
    "bazel": ("test", "build", "query"),
    "cmake": ("--build",),
    "pip": ("list", "show", "freeze", "check"),
}
# For these, every word that is not an option must be an allowed goal.
GOALS: Final = frozenset({"mvn", "gradle", "./mvnw", "./gradlew"})
MORE_GOALS: Final = frozenset({"clean", "classes", "testClasses", "compileTestJava", "compileKotlin", "test-compile"})
TOOLS: Final = (
    *("pytest", "py.test", "mypy", "ruff", "flake8", "pylint", "pyright", "black --check", "isort --check", "jest"),
    *("vitest", "eslint", "tsc", "prettier --check", "mocha", "ctest", "make", "ninja", "tox", "nox", "gcc", "g++"),
    *("clang", "clang++", "cc", "c++", "javac", "shellcheck", "golangci-lint", "rubocop", "rspec", "phpunit"),
)
PYTHON: Final = tuple(f"{python} -m {module}" for python in ("python", "python3") for module in MODULES)
VERSIONS: Final = ("python --version", "python3 --version", "node --version", "java -version", "rustc --version")

ALLOWED: Final = frozenset({
    *READING, *TOOLS, *PYTHON, *VERSIONS,
    *(f"git {words}" for words in (*GIT, *GIT_LISTS)),
    *(f"{program} {words}" for program, all_words in BUILDING.items() for words in all_words),
})  # fmt: skip
# Folders with a project's own tools; running its tests runs its code anyway.
LOCAL: Final = re.compile(r"(?:\./)?(?:\.venv/bin|venv/bin|env/bin|node_modules/\.bin|vendor/bin)/(?P<name>[\w.+-]+)")
LOCAL_NAMES: Final = frozenset(entry.split()[0] for entry in (*TOOLS, *PYTHON))

# Flags that make an allowed program run another program, load code or write files. A word that starts with one is
# refused, including the abbreviations that the program accepts.
REFUSED: Final = {
    "find": r"-(?:exec|execdir|ok|okdir|delete|fprint|fprint0|fprintf|fls|files0-from)$",
    "rg": r"--pre(?:$|=)|--hostname-bin|--search-zip|-[a-zA-Z]*z$",
    "sort": r"--co|-[a-zA-Z]*[oT]|--o|--t|--fi",
    "tree": r"-[a-zA-Z]*o$|--output|--fromfile",
    "date": r"-s|--s|-f|--f",
    "file": r"-C|--compile|-z|-Z|--uncompress|-f|--files-from",
    "xxd": r"-r|-revert",
    "tar": r"--check|--to|--us|--rs|--info|--new|--abs|-[a-zA-Z]*[IFP]",
    "nm": r"--pl|@",
    "pytest": r"--paste|--pdbcls",
    "diff": r"--to-file|--from-file|--output",
    "cmake": r"-P|-E|--install",
    "make": r"--ev|-E|-f-$|[A-Za-z_.]+:{0,3}[?+!]?=",
    "ninja": r"-t",
    "go": r"-+(?:exec|toolexec|vettool|modfile|overlay|o|w|u)(?:$|=)",
    "cargo": r"--config|-Z|\+|--target-dir|--artifact-dir",
    "npm": (
        r"--script-shell|--node-options|--prefix|-C|--userconfig|--globalconfig|--init-module|--location|-g$|--global"
        r"|--shell|--git|--editor|--viewer|--browser"
    ),
    "pnpm": r"--script-shell|--shell|-C|--dir|-g$",
    "yarn": r"--cwd|--script-shell|--use-yarnrc",
    "mvn": r"-s|--settings|-gs|-t$|-D(?:exec|maven\.ext|maven\.repo|jvm|argLine|surefire)|-f|--file",
    "gradle": r"-I|--init|-g$|--gradle-user-home|-b$|-c$|-p$|--include-build|--project-dir|-D(?:org\.gradle\.jvm|java)",
    "gcc": (
        r"-fplugin|-fpass-plugin|-plugin|-W[lap],.*plugin|-X(?:linker|clang|assembler|preprocessor)|-cc1|-load"
        r"|-wrapper|-B|-specs|--specs|@|-iplugindir|-fuse-ld|--ld-path|--sysroot|--config"
    ),
    "jq": r"--from-file|-f$|-L|--library-path",
    "mypy": r"--python-exec|--install-types|--any-exprs|--html|--xml|--txt|--cobertura|--linecount|--lineprecision",
    "pylint": r"--init-hook|--load-plugins|--output",
    "eslint": r"--resolve-plugins|--rulesdir|--plugin|--output-file|-o$|--parser",
    "jest": r"--globalSetup|--testRunner|--runner|--resolver|--reporters|--outputFile|--config=\{|--watchPlugins",
    "prettier": r"--plugin|--write|-w$",
    "bazel": r"--run_under|--script_path|--output_base|--output_user_root",
    "dotnet": r"--logger|--test-adapter|-o$|--output",
    "ctest": r"-S|--script|--build",
    "objdump": r"--debuginfod|@",
    "du": r"--files0-from|-X|--exclude-from",
    "wc": r"--files0-from",
    "git": (
        r"-c$|--config-env|--exec-path|--upload-pack|--receive-pack|--ext|--textc|-O|--open|--outp"
        r"|--git-dir|--work-tree|--no-index|--paginate|--namespace|--super-prefix|--contents|--filters"
        r"|--batch-command|--attr-source|--show-sig|--man|--web|--help|--ignore-revs-file|--exclude-from|-X"
    ),
}  # fmt: skip
SAME: Final = {
    "./gradlew": "gradle", "./mvnw": "mvn", "g++": "gcc", "clang": "gcc", "clang++": "gcc", "cc": "gcc", "c++": "gcc",
    "py.test": "pytest", "python3": "python", "vitest": "jest",
}  # fmt: skip
# Subcommands that list, and the flags that make them change something instead.
LISTING: Final = frozenset({"branch", "tag", "stash", "remote", "worktree", "reflog", "submodule"})
CHANGING: Final = re.compile(
    r"-[dDmMcCfFu]|--(?:del|mov|cop|for|edit|set|unset|create|add|rename|prune|expire|track|sign|ann|mess|file)"
)
FORCED_GIT: Final = {
    "diff": ("--no-ext-diff", "--no-textconv"),
    "show": ("--no-ext-diff", "--no-textconv"),
    "log": ("--no-ext-diff", "--no-textconv", "--no-show-signature"),
    "whatchanged": ("--no-ext-diff", "--no-textconv"),
    "diff-tree": ("--no-ext-diff", "--no-textconv"),
    "grep": ("--no-textconv",),
    "blame": ("--no-textconv",),
    "annotate": ("--no-textconv",),
    "status": ("--ignore-submodules=dirty",),
}
# Git settings through which a repository could make git run a program.
SETTINGS: Final = (
    *("core.fsmonitor=false", "core.hooksPath=/dev/null", "core.pager=cat", "core.editor=false", "core.askPass="),
    *("core.sshCommand=false", "core.gitProxy=", "core.alternateRefsCommand=", "core.attributesFile=/dev/null"),
    *("diff.external=", "interactive.diffFilter=", "log.showSignature=false", "gpg.program=false"),
    *("gpg.ssh.program=false", "gpg.x509.program=false", "credential.helper=", "protocol.allow=never"),
    *("uploadpack.packObjectsHook=", "color.ui=false", "submodule.recurse=false", "diff.submodule=short"),
)
GIT_SAFE: Final = (
    *("--no-pager", "--no-optional-locks"),
    *(part for setting in SETTINGS for part in ("-c", setting)),
)
GIT_BEFORE: Final = frozenset({"--no-pager", "--no-optional-locks", "--literal-pathspecs", "-P"})

# Environment variables passed to commands: paths and locale, nothing that could be a secret.
ENVIRONMENT: Final = (
    *("PATH", "LANG", "LANGUAGE", "TZ", "USER", "LOGNAME", "JAVA_HOME", "GOROOT", "SSL_CERT_FILE", "SSL_CERT_DIR"),
)
