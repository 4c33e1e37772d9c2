"""Which command lines may run: tables of refused and allowed ones, and how a line is parsed without a shell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from llmc.base.errors import LlmcError
from llmc.extend.shell.command_line import parse
from llmc.extend.shell.policy import Policy, environment, inside_of
from llmc.extend.shell.rewrite import enriched

if TYPE_CHECKING:
    from pathlib import Path

ALLOWED = """
ls -la
cat README.md
grep -rn /api/v1 src
rg --hidden foo
find . -name '*.py' -type f
sort -u names.txt
git log --oneline -5
git -C src status
git --no-pager diff HEAD~1 -- src
git branch --list
git branch -a
git branch
git remote -v
git tag -l v1.*
git show HEAD:README.md
git blame -L 1,20 src/main.py
python -m pytest -q tests
python3 -m unittest -v
pytest -k 'a or b' -x
.venv/bin/pytest -q
node_modules/.bin/jest --ci
npm test
npm run build
go test ./...
go vet -v ./...
cargo test --all
mvn -q -B clean test
gradle :app:test --offline
./gradlew test
make -j4 test
gcc -Wall -c src/main.c -o main.o
tsc --noEmit -p .
ruff check .
mypy --strict src
wc -l src/main.py
diff README.md src/main.py
""".strip().split("\n")

REFUSED = r"""
rm -rf .
bash -c ls
sh script.sh
python script.py
python -c 'import os'
python3 -m http.server
python -m pip install x
node -e 1
npx jest
npm install evil
npm exec evil
npm run test --script-shell=/bin/evil
pip install x
curl http://example.org
wget x
env ls
xargs ls
nohup ls
timeout 5 ls
sudo ls
awk 'BEGIN{system("id")}'
sed -i s/a/b/ README.md
tee out
dd if=a of=b
chmod +x a
ssh host
docker ps
perl -e 1
./ls
./script.sh
src/ls
/bin/ls
/usr/bin/env ls
.venv/bin/ls
.venv/bin/../../script.sh
node_modules/.bin/evil
PATH=/tmp ls
LD_PRELOAD=x.so ls
find . -exec rm {} +
find . -execdir rm {} +
find . -ok rm {} +
find . -delete
find . -fprint /tmp/x
find . -fls x
rg --pre ./evil foo
rg --pre=./evil foo
rg --hostname-bin ./evil foo
rg -z foo
sort --compress-program=./evil names.txt
sort --compress-prog ./evil names.txt
sort -o out names.txt
sort -uo out names.txt
sort --output=out names.txt
tree -o out
date -s tomorrow
git
git -c core.pager=evil log
git -c alias.log=!evil log
git --config-env=core.pager=X log
git --exec-path=. log
git --git-dir=/tmp/x log
git --work-tree=/ diff
git -p log
git --paginate log
git commit -m x
git push
git fetch
git pull
git clone x
git checkout x
git reset --hard
git clean -fdx
git config core.pager evil
git gc
git branch new
git branch -v new
git branch -a new
git remote -v prune origin
git remote -v set-url origin x
git branch -D main
git branch --list -D main
git branch -a -m x y
git tag new
git tag -l -d x
git stash
git stash pop
git remote add x y
git remote -v add x y --track=z
git worktree add ../x
git submodule update
git diff --ext-diff
git diff --ext-d
git diff --no-index a b
git diff --output=x
git log --output=x
git log --textconv
git log --show-signature
git show --ext-diff
git grep -O foo
git grep -Oless foo
git grep --open-files-in-pager=evil foo
git cat-file --filters HEAD:a
git cat-file --textconv HEAD:a
git blame --contents /etc/passwd README.md
git bisect run evil
git rebase --exec evil
git difftool
git help log
git log --help
go run .
go test -exec ./evil ./...
go test -exec=./evil ./...
go build -toolexec ./evil
go build --toolexec=./evil
go vet -vettool=./evil
go env -w GOFLAGS=-toolexec=x
go generate ./...
go install x
go get x
cargo run
cargo install x
cargo test --config build.rustc-wrapper='evil'
cargo +nightly test
mvn exec:exec
mvn test exec:exec
mvn test org.codehaus.mojo:exec-maven-plugin:exec
mvn -s evil.xml test
mvn deploy
gradle evilTask
gradle test evilTask
gradle -I evil.gradle test
gradle --init-script evil.gradle test
make SHELL=./evil
make CC=./evil all
make --eval='x:;evil'
make -f- all
gcc -fplugin=./evil.so a.c
gcc -wrapper ./evil a.c
gcc @args
gcc -B. a.c
g++ -specs=x a.c
mypy --python-executable ./evil src
pylint --init-hook=evil src
eslint --rulesdir evil src
eslint -o out src
jest --globalSetup ./evil.js
prettier --write src
ldd ./evil
nm --plugin=./evil.so a.o
npm version patch
cargo fmt
pytest --pastebin=all
sort --co=./evil names.txt
gcc -Wl,-plugin=./evil.so a.c
clang -Xclang -load -Xclang ./evil.so a.c
clang -fpass-plugin=./evil.so a.c
git diff --ext
tar -xf a.tar --checkpoint-action=exec=sh
cat /etc/passwd
cat ../outside.txt
cat src/../../outside.txt
cat link.txt
head -n1 linked/outside.txt
ls /
ls /tmp
ls ~
grep -f /etc/passwd README.md
grep -f../outside.txt README.md
grep --file=/etc/passwd README.md
wc --files0-from=/etc/passwd
diff README.md /etc/hostname
gcc -I/etc -c src/main.c
gcc -Wl,-T/etc/hostname a.c
pytest --rootdir=/tmp
pytest -c/etc/pytest.ini
pytest --override-ini=cache_dir=/tmp/x
git -C .. status
git -C /tmp status
ls `id`
ls $(id)
ls $HOME
echo "$HOME"
echo "`id`"
ls; rm x
ls && rm x
ls || rm x
ls | sh
ls | xargs rm
ls & rm x
ls > out; sh out
ls > /etc/cron.d/x
ls >> ../outside.txt
cat < /etc/passwd
cat << EOF
(ls)
{ls,rm}
ls\nrm x
ls {a,b}
sh<script.sh
! ls
if true
""".strip().split("\n")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "outside.txt").write_text("zeppelin")
    folder = tmp_path / "root"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "main.py").write_text("x")
    (folder / "README.md").write_text("x")
    (folder / "link.txt").symlink_to(tmp_path / "outside.txt")
    (folder / "linked").symlink_to(tmp_path)
    return folder


def checked(line: str, root: Path, *allow: str) -> list[list[str]]:
    policy = Policy(allow, inside=inside_of([str(root)], str(root)))
    commands = []
    for pipeline in parse(line):
        for command in pipeline.commands:
            for redirect in command.redirects:
                policy.inside(redirect.target)
            commands.append(policy.command([word.text for word in command.words]))
    return commands


@pytest.mark.parametrize("line", ALLOWED)
def test_reading_building_and_testing_may_run(line: str, root: Path) -> None:
    assert checked(line, root)


@pytest.mark.parametrize("line", REFUSED)
def test_everything_else_is_refused_with_its_reason(line: str, root: Path) -> None:
    with pytest.raises(LlmcError) as refused:
        checked(line.replace("\\n", "\n"), root)
    assert refused.value.message
    assert "zeppelin" not in str(refused.value)


def test_a_refusal_says_how_the_user_allows_it(root: Path) -> None:
    with pytest.raises(LlmcError) as refused:
        checked("docker compose up", root)
    assert 'allow = ["docker compose"]' in refused.value.hint
    assert checked("docker compose ps", root, "docker compose")
    with pytest.raises(LlmcError):
        checked("docker run x", root, "docker compose")


def test_an_entry_of_the_users_keeps_the_flags_that_run_programs_refused(root: Path) -> None:
    assert checked("tar tf a.tar", root, "tar")
    for line in ("tar xf a --checkpoint-action=exec=sh", "tar --to-command=sh -xf a", "tar -I ./evil -xf a"):
        with pytest.raises(LlmcError):
            checked(line, root, "tar")


def test_the_built_in_list_can_be_left_out(root: Path) -> None:
    policy = Policy(("make test",), builtin=False, inside=inside_of([str(root)], str(root)))
    assert policy.command(["make", "test"]) == ["make", "test"]
    with pytest.raises(LlmcError):
        policy.command(["ls"])


def test_git_runs_with_what_a_repository_could_plant_switched_off(root: Path) -> None:
    words = checked("git -C src log -3", root)[0]
    for setting in ("core.fsmonitor=false", "core.hooksPath=/dev/null", "diff.external=", "core.pager=cat"):
        assert setting in words
    assert words[words.index("-C") + 1] == "src"
    assert {"--no-ext-diff", "--no-textconv"} <= set(words[words.index("log") :])
    assert words[-1] == "-3"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("a 'b c' \"d e\" f\\ g", [["a", "b c", "d e", "f g"]]),
        ("grep '$HOME;|&' x", [["grep", "$HOME;|&", "x"]]),
        ("grep 'foo$' x", [["grep", "foo$", "x"]]),
        ("grep foo$ x", [["grep", "foo$", "x"]]),
        ("echo \"a\\\"b\" 'it'\"'\"'s'", [["echo", 'a"b', "it's"]]),
        ("a | b && c || d; e", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("a 2>&1 | b >/dev/null", [["a"], ["b"]]),
        ("a '' b", [["a", "", "b"]]),
        ("a ;", [["a"]]),
        ("echo a#b 2 x2>y", [["echo", "a#b", "2", "x2"]]),
    ],
)
def test_a_line_is_read_as_a_shell_reads_it(line: str, words: list[list[str]]) -> None:
    commands = [command for pipeline in parse(line) for command in pipeline.commands]
    assert [[word.text for word in command.words] for command in commands] == words


@pytest.mark.parametrize(
    "line", ["", "   ", "|", "a |", "| a", "a && ", "a ;; b", "'a", '"a', "a \\", "a >", "a > > b"]
)
def test_a_line_that_is_not_whole_is_refused(line: str) -> None:
    with pytest.raises(LlmcError):
        parse(line)


def test_only_named_variables_reach_a_command() -> None:
    outer = {"PATH": "/bin:.:rel", "AWS_SECRET_ACCESS_KEY": "s", "OPENAI_API_KEY": "s", "LLMC_HOME": "s", "LC_ALL": "C"}
    made = environment({**outer, "MINE": "m", "LD_PRELOAD": "s"}, ("MINE",), "/h", "/t", "otto")
    assert "s" not in made.values()
    assert made["PATH"] == "/bin"
    assert (made["HOME"], made["TMPDIR"], made["MINE"], made["LC_ALL"]) == ("/h", "/t", "m", "C")
    assert made["TE_AGENT_ID"] == "otto"


@pytest.mark.parametrize(
    ("words", "tool", "args"),
    [
        ("grep -rn foo src", "grep", {"pattern": "foo", "also": [], "path": ["src"]}),
        ("grep -rin foo .", "grep", {"pattern": "foo", "also": [], "path": [], "ignore_case": True}),
        ("grep -rnE a|b src", "grep", {"pattern": "a|b", "also": [], "path": ["src"]}),
        ("grep -rn a|b src", "grep", {"pattern": "a\\|b", "also": [], "path": ["src"]}),
        ("grep -rn a\\|b src", "grep", {"pattern": "a|b", "also": [], "path": ["src"]}),
        ("grep -rn f(x) src", "grep", {"pattern": "f\\(x\\)", "also": [], "path": ["src"]}),
        ("grep -rlw foo src", "grep", {"pattern": "foo", "also": [], "path": ["src"], "files": True, "word": True}),
        ("grep -C3 -e a -e b x.py", "grep", {"pattern": "a", "also": ["b"], "path": ["x.py"], "context": 3}),
        ("grep --include=*.py -r x .", "grep", {"pattern": "x", "also": [], "path": [], "glob": ["*.py"]}),
        ("rg foo", "grep", {"pattern": "foo", "also": [], "path": []}),
        (
            "rg -t py -g !x foo src",
            "grep",
            {"pattern": "foo", "also": [], "path": ["src"], "type": ["py"], "glob": ["!x"]},
        ),
        ("cat a.py b.py", "read", {"target": ["a.py", "b.py"]}),
        ("head -n 5 a.py", "read", {"target": ["a.py:1-5"]}),
        ("head -20 a.py", "read", {"target": ["a.py:1-20"]}),
        ("head a.py", "read", {"target": ["a.py:1-10"]}),
        ("tail -n +7 a.py", "read", {"target": ["a.py:7-"]}),
        ("find src -type f -name *_test.go", "find", {"name": "*_test.go", "path": ["src"]}),
        ("find . -name *.py", "find", {"name": "*.py", "path": []}),
        ("tree -L 2 src", "tree", {"path": ["src"], "depth": 2}),
        ("ls -R", "tree", {"path": [], "depth": 99}),
    ],
)
def test_a_command_that_the_index_answers_keeps_its_meaning(words: str, tool: str, args: dict[str, object]) -> None:
    assert enriched(words.split(" ")) == (tool, args)


@pytest.mark.parametrize(
    "words",
    [
        *(
            "grep foo",
            "grep -o foo x",
            "grep -P foo x",
            "grep -rZ foo .",
            "grep foo -",
            "grep -f x y",
            "grep -rn \\(a\\)\\1 .",
        ),
        *(
            "grep -r [[:alpha:]\\] .",
            "grep -m 3 foo x",
            "grep -L foo x",
            "grep -rn a^b .",
            "grep --foo x y",
            "grep -q x y",
        ),
        *(
            "rg",
            "rg -o foo",
            "rg --json foo",
            "rg -uu foo",
            "rg --no-ignore foo",
            "rg -P foo",
            "rg --files",
            "rg -s foo",
        ),
        *(
            "cat",
            "cat -A a",
            "cat -",
            "cat a:3",
            "cat habcd",
            "head -c 10 a",
            "head a b",
            "tail a",
            "tail -f a",
            "tail -n 5 a",
        ),
        *(
            "find . -name foo",
            "find . -newer x",
            "find . -type d",
            "find . -type f -exec x",
            "find -maxdepth 1",
            "ls",
            "ls -l",
        ),
        *("ls -lR", "tree -a", "tree -J", "sed -n 1,3p a", "find . ! -name x -type f"),
    ],
)
def test_a_command_that_is_not_understood_whole_is_run(words: str) -> None:
    assert enriched(words.split(" ")) is None
