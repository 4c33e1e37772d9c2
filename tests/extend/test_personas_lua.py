"""Scripts are contained: whatever one tries, it reads no file and no environment, runs nothing, and ends in time."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from daemons import until

from llmc.agents import AgentError, AgentRegistry, AgentTimeoutError
from llmc.base.errors import LlmcError
from llmc.extend.personas.sandbox import LuaPool, ScriptJob, pool
from llmc.extend.personas.script import LuaAgent

if TYPE_CHECKING:
    from llmc import Workspace


CANARY = "canary-0f3a91"
# Each tries to get at a file, the environment, a program, the host's objects, or bytecode. FILE and MARK are filled in.
ESCAPES = [
    "return io.open('FILE'):read('a')",
    "return io.lines('FILE')()",
    "io.output('MARK'):write('x')",
    "return io.popen('cat FILE'):read('a')",
    "return os.getenv('CANARY')",
    "os.execute('touch MARK')",
    "os.rename('FILE', 'MARK')",
    "os.remove('FILE')",
    "return os.tmpname()",
    "os.exit(0)",
    "return dofile('FILE')",
    "return loadfile('FILE')",
    "return load('return io')()",
    "return loadstring('return io')()",
    "return require('io')",
    "return require('os').getenv('CANARY')",
    "return package.loaded.io.open('FILE'):read('a')",
    "return package.loadlib('libc.so.6', 'system')('touch MARK')",
    "package.path = 'FILE' return require('x')",
    "package.preload.x = function() return io end return require('x').open('FILE'):read('a')",
    "return package.searchers[2]('x')",
    "return debug.getregistry()",
    "return debug.getregistry()._LOADED.io.open('FILE'):read('a')",
    "return debug.getinfo(1).source",
    "debug.sethook(function() end, '', 1)",
    "return debug.getupvalue(print, 1)",
    "return debug.setmetatable('', {})",
    "return python.eval('open(\"FILE\").read()')",
    "return python.builtins.open('FILE').read()",
    "return python.builtins.__import__('os').environ['CANARY']",
    "python.execute('import os; os.system(\"touch MARK\")')",
    "return python.as_attrgetter(print).__globals__",
    "return print.__globals__",
    "return print.__class__.__base__.__subclasses__()",
    "return error.__self__",
    "return tostring.__call__",
    "return getmetatable('').__index.__class__",
    "return getmetatable(print).__index",
    "return getmetatable(_G).__index(nil, 'io').open('FILE')",
    "return getmetatable('').__index.dump(print)",
    "return string.dump(function() end)",
    "return ('x').dump(print)",
    "return (''):gsub('', _G.io.open)",
    "return coroutine.running()",
    "return coroutine.yield('call', '{}')",
    "coroutine.wrap(function() coroutine.yield('done', '{\"system\":\"MARK\"}') end)()",
    "return collectgarbage('count')",
    "return newproxy(true)",
    "return setfenv(1, {})",
    "return getfenv(0)",
    "return module('x')",
    "return _ENV.io.open('FILE'):read('a')",
    "return _G._G.os.getenv('CANARY')",
    "for k, v in pairs(_G) do if type(v) == 'userdata' then return v end end return python.eval",
    "return rawget(_G, 'python').eval('1')",
    "return rawget(_G, 'os').getenv('CANARY')",
    "local t = setmetatable({}, { __index = function(_, k) return _ENV[k] end }) return t.io.open('FILE')",
    "return select(2, pcall(error, setmetatable({}, { __tostring = function() return io end }))).x",
    "return string.format('%s', setmetatable({}, { __tostring = function() return os.getenv('CANARY') end }))",
    "return xpcall(function() return io.open('FILE') end, debug.traceback)",
    "return table.concat({ pcall(require, 'ffi') }, ' ', 2) .. ffi.C.system('touch MARK')",
    "return jit.util.funck(print, 1)",
    "return load(string.dump(function() return io end), 'x', 'b')()",
    "return utf8.char(1):rep(10):dump()",
    "return warn('@on') or warn('x')",
]
HOSTILE = {
    "loops": "while true do end",
    "loops where errors are caught": "while true do pcall(function() while true do end end) end",
    "loops in a pattern": "return ('a'):rep(200000):find(('a*'):rep(60) .. 'b')",
    "never stops printing": "while true do print('x') end",
}
GREEDY = {
    "one long text": "return { system = ('x'):rep(1 << 40) }",
    "a text that doubles": "local s = 'x' while true do s = s .. s end",
    "a growing table": "local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end",
    "a growing table where errors are caught": "local t = {} for _ = 1, 50 do pcall(function() while true do "
    "t[#t + 1] = ('x'):rep(100000) .. #t end end) end error('no memory')",
    "a table that holds itself": "local t = {} t.t = t return t",
    "a deep recursion": "local function f() return 1 + f() end return f()",
    "a deep table": "local t = {} for _ = 1, 1000 do t = { t } end return t",
    "a reply of two megabytes": "return { system = ('x'):rep(2 << 20) }",
}
SHAPES = {
    "nothing": ("return nil", "did not return a table"),
    "a text": ("return 'x'", "did not return a table"),
    "no system": ("return { messages = {} }", "returned no `system`"),
    "an empty system": ("return { system = ' ' }", "returned no `system`"),
    "a number for system": ("return { system = 7 }", "returned no `system`"),
    "messages as text": ("return { system = 'x', messages = 'y' }", "messages must be a list"),
    "a message as text": ("return { system = 'x', messages = { 'y' } }", "message 1 needs a role"),
    "an unknown role": ("return { system = 'x', messages = { { role = 'root', content = 'y' } } }", "message 1 needs"),
    "a content of tables": (
        "return { system = 'x', messages = { { role = 'user', content = {} } } }",
        "message 1 needs",
    ),
    "tools as text": ("return { system = 'x', tools = 'search' }", "tools must be a list of strings"),
    "a function": ("return { system = print }", "a value of type function cannot be returned"),
    "an error": ("error('no luck')", "no luck"),
    "an error that is a table": ("error({})", "it raised a table"),
    "a finaliser": ("setmetatable({}, { __gc = function() while true do end end })", "__gc is not available"),
    "an unknown call": ("return context.delete('x')", "attempt to call a nil value"),
    "a search without words": ("return context.search({})", "context.search requires a query"),
    "an unknown mode": ("return context.search({ query = 'x', mode = 'psychic' })", "unknown mode 'psychic'"),
    "a file that is not there": ("return context.get('nothing/here.py')", "there is no 'nothing/here.py'"),
    "a file outside": ("local x = context.get('../../etc/passwd')", "script.lua:1: this path is not in the workspace"),
    "a thousand calls": ("for i = 1, 1000 do pcall(context.search, { query = 'retry' }) end", "more than 50 times"),
}


@pytest.fixture
def run(workspace: Workspace, tmp_path: Path) -> Any:
    """A script whose `agent.resolve` is the given body, resolved."""

    def resolve(body: str, seconds: float = 10.0) -> Any:
        path = tmp_path / "script.lua"
        path.write_text(f"return {{ resolve = function(args, config, context) {body} end }}", "utf-8")
        registry = AgentRegistry()
        registry.register(LuaAgent("script", path, seconds, {}))
        return registry.resolve(workspace, "script", {})

    return resolve


@pytest.mark.parametrize("payload", ESCAPES)
def test_no_script_gets_out(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, payload: str) -> None:
    monkeypatch.setenv("CANARY", CANARY)
    (tmp_path / "file").write_text(CANARY)
    tried = payload.replace("FILE", str(tmp_path / "file")).replace("MARK", str(tmp_path / "mark"))
    body = (
        f"local done, got = pcall(function() {tried} end) return {{ system = tostring(done) .. ' ' .. tostring(got) }}"
    )
    said = run(body).prompt.system
    assert said.startswith("false ") or said == "true nil", said  # and never because the process ended
    assert CANARY not in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "script.lua"]


def test_a_script_sees_nothing_but_harmless_names(run: Any) -> None:
    body = "local t = {} for k in pairs(_G) do t[#t + 1] = k end table.sort(t) return { system = table.concat(t, ' ') }"
    assert run(body).prompt.system == (
        "_G _VERSION assert error getmetatable ipairs math next pairs pcall print rawequal rawget rawlen rawset select "
        "setmetatable string table tonumber tostring type utf8 xpcall"
    )


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_script_without_end_is_ended(run: Any, body: str) -> None:
    with pytest.raises(AgentTimeoutError, match=r"took longer than 0.5 seconds"):
        run(body, 0.5)
    assert run("return { system = 'well' }").prompt.system == "well"


@pytest.mark.parametrize("body", GREEDY.values(), ids=GREEDY.keys())
def test_a_greedy_script_is_an_error_and_the_next_one_works(run: Any, body: str) -> None:
    with pytest.raises((AgentError, AgentTimeoutError)):
        run(body)
    assert run("return { system = 'well' }").prompt.system == "well"


@pytest.mark.parametrize(("body", "said"), SHAPES.values(), ids=SHAPES.keys())
def test_mistakes_of_a_script_are_reported(run: Any, body: str, said: str) -> None:
    with pytest.raises(LlmcError) as told:
        run(body)
    assert said in str(told.value)


def test_two_resolutions_do_not_influence_each_other(run: Any) -> None:
    spoil = (
        "string.format = nil table.concat = nil getmetatable('').__index = {} _G.left = 'over' return { system = 'x' }"
    )
    assert run(spoil).prompt.system == "x"
    look = "return { system = tostring(left) .. string.format('%d', 7) .. table.concat({ 'a', 'b' }) .. ('c'):upper() }"
    assert run(look).prompt.system == "nil7abC"


def test_values_come_through_as_they_are(run: Any) -> None:
    body = """
    local found = context.search({ query = "retry policy", limit = 1 })[1]
    assert(math.type(found.start_line) == "integer" and math.type(found.score) == "float")
    local doc = context.get(found.path .. "::RetryPolicy.delay")
    assert(doc.body:find("Exponential backoff") and not doc.cut)
    assert(#context.search({ query = "retry", filters = { source = "nowhere" } }) == 0)
    assert(#context.search({ query = "retry", filters = { source = "tests" } }) == 1)
    assert(#context.search("courier") > 0)
    return { system = found.source .. " \\u{e9}\\u{1F600}\\0\\"\\\\ " .. context.sources()[1].files }
    """
    resolved = run(body)
    assert resolved.prompt.system.endswith('é😀\\0"\\ 6')
    assert (resolved.searches, resolved.fetches) == (4, 1)


def test_scripts_at_once_have_workers_of_their_own() -> None:
    workers = LuaPool()
    script = "return { resolve = function(args, _, context) context.sources() return { system = args.n } end }"
    meeting = threading.Barrier(3)

    def meet(_name: str, _args: list[Any]) -> tuple[bool, str]:
        meeting.wait(60)  # none passes unless all three run at the same time
        return False, "[]"

    answers: dict[str, Any] = {}

    def ask(number: str) -> None:
        job = ScriptJob("s.lua", script, "run agent", {"args": {"n": number}, "config": {}}, 60.0)
        answers[number] = workers.run(job, meet, [])["system"]

    threads = [threading.Thread(target=ask, args=(str(number),)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    workers.close()
    assert answers == {"0": "0", "1": "1", "2": "2"}


def test_a_worker_that_was_killed_is_replaced() -> None:
    workers = LuaPool()
    job = ScriptJob(
        "s.lua", "return { resolve = function() return { system = 'x' } end }", "run agent", {"args": {}}, 20.0
    )
    assert workers.run(job, lambda _name, _args: (False, "[]"), [])["system"] == "x"
    spare = workers._spare
    assert spare is not None
    spare._process.kill()
    spare._process.wait()
    assert workers.run(job, lambda _name, _args: (False, "[]"), [])["system"] == "x"
    workers.close()


def test_an_idle_script_worker_exits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llmc.extend.personas.sandbox.IDLE_SECONDS", 0.01)
    workers = LuaPool()
    job = ScriptJob(
        "s.lua", "return { resolve = function() return { system = 'x' } end }", "run agent", {"args": {}}, 20.0
    )
    workers.run(job, lambda _name, _args: (False, "[]"), [])
    until(lambda: workers._spare is None)


def test_the_process_itself_can_open_and_run_nothing(tmp_path: Path) -> None:
    """The second barrier: what an escape from Lua could still do."""
    worker = Path(sys.modules[LuaPool.__module__].__file__ or "").with_name("worker.py")
    tries = f"""
import importlib.util, os, socket, sys
spec = importlib.util.spec_from_file_location("worker", {str(worker)!r})
worker = importlib.util.module_from_spec(spec)
spec.loader.exec_module(worker)
worker.confine()
def tried(act):
    try:
        act()
    except OSError:
        return "refused"
    except MemoryError:
        return "no memory"
    return "done"
print(tried(lambda: open({str(tmp_path / "mark")!r}, "w")))
print(tried(lambda: open("/etc/passwd")))
print(tried(lambda: socket.socket()))
print(tried(lambda: bytearray(1 << 30)))
sys.stdout.flush()
print(tried(lambda: os.execv("/bin/echo", ["echo", "ran"])))
"""
    done = subprocess.run([sys.executable, "-c", tries], capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout.split("\n") == ["refused", "refused", "refused", "no memory", "refused", ""], done.stderr
    assert not os.listdir(tmp_path)  # noqa: PTH208 - as above


def test_a_script_that_never_ends_describing_itself_holds_a_list_up_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[ScriptJob] = []
    run = pool.run

    def counted(job: ScriptJob, *others: Any) -> Any:
        runs.append(job)
        return run(job, *others)

    monkeypatch.setattr(pool, "run", counted)
    path = tmp_path / "endless.lua"
    path.write_text("while true do end")
    registry = AgentRegistry()
    registry.register(LuaAgent("endless", path, 30.0, {}))
    (info,) = registry.list()
    assert info.description == "not usable: endless.lua took longer than 2 seconds"
    assert [registry.list()[0] for _ in range(5)] == [info] * 5
    assert len(runs) == 1
    path.write_text("return { description = 'Well\u202e\\n now', resolve = function() end }")
    assert registry.list()[0].description == "Well\\u202e\\n now"
