"""Arguments of every type, size and content, over MCP and REST: each call is answered, and none breaks anything.

`make test` runs a seeded sample; `make soak` (LLMC_FUZZ_CALLS=26000) runs the long version and checks the memory.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from fuzz_world import INTERNAL, FuzzCall, calls, opened, over_mcp, over_rest

from llmc.base.malloc import trim_heap
from llmc.server.call_threads import resident_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx
    from fuzz_world import Lines

    from llmc.envelope.request import ClientInfo
    from llmc.server.service import Service

COUNT = int(os.environ.get("LLMC_FUZZ_CALLS", "1000"))
SEED = int(os.environ.get("LLMC_FUZZ_SEED", "20"))
# Far above what any of these calls may take, and far below a hang.
PATIENCE = 90.0
# Memory is compared only in a long run: the first thousand calls load grammars, models and caches.
WARM = 10_000
GROWTH = 1.2


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, ClientInfo, Path]]:
    folder = tmp_path_factory.mktemp("fuzz")
    with opened(folder) as (service, client):
        yield service, client, folder


def test_no_mcp_call_hangs_fails_inside_or_ends_the_session(world: tuple[Service, ClientInfo, Path]) -> None:
    service, client, _ = world

    async def run() -> list[str]:
        async with over_mcp(service, client) as lines:
            wrong, warm = [], 0
            for number, one in enumerate(calls(SEED, COUNT)):
                wrong += await trouble_over_mcp(lines, one)
                warm = settled_bytes() if number == WARM else warm
            assert not warm or settled_bytes() < warm * GROWTH
            assert "result" in await asyncio.wait_for(lines.call("ping", {}), PATIENCE)
            return wrong

    wrong = asyncio.run(run())
    assert not wrong, "\n".join(wrong)


def settled_bytes() -> int:
    """Memory in use, without what the allocator keeps; the daemon returns that when it is idle."""
    gc.collect()
    trim_heap()
    return resident_bytes()


async def trouble_over_mcp(lines: Lines, one: FuzzCall) -> list[str]:
    try:
        reply = await asyncio.wait_for(lines.call(one.tool, one.args), PATIENCE)
    except TimeoutError:
        return [f"no answer: {shown(one)}"]
    error = reply.get("error") or {}
    return [f"{error['message'][:200]}: {shown(one)}"] if error.get("code") == INTERNAL else []


@pytest.mark.parametrize("name", [[], {}, ["grep"], 1, None])
def test_a_gateway_call_with_a_name_of_the_wrong_type_does_not_end_the_session(
    world: tuple[Service, ClientInfo, Path], name: Any
) -> None:
    service, client, _ = world

    async def run() -> dict[str, Any]:
        async with over_mcp(service, client) as lines:
            await asyncio.wait_for(lines.call("llmc", {"name": name, "args": {"x": 1}}), PATIENCE)
            return await asyncio.wait_for(lines.call("ping", {}), PATIENCE)

    assert "result" in asyncio.run(run())


def test_no_rest_call_hangs_or_fails_inside(world: tuple[Service, ClientInfo, Path]) -> None:
    service, client, folder = world

    async def run() -> list[str]:
        async with over_rest(service, client, folder / "home") as rest:
            wrong = []
            for one in calls(SEED + 1, COUNT):
                wrong += await trouble_over_rest(rest, one)
            return wrong

    wrong = asyncio.run(run())
    assert not wrong, "\n".join(wrong)


async def trouble_over_rest(rest: httpx.AsyncClient, one: FuzzCall) -> list[str]:
    body = json.dumps(one.args)
    request = rest.post(f"/tools/{one.tool}", content=body, headers={"content-type": "application/json"})
    try:
        reply = await asyncio.wait_for(request, PATIENCE)
    except TimeoutError:
        return [f"no answer: {shown(one)}"]
    wrong = []
    if reply.status_code == 500 or (reply.status_code >= 400 and "error" not in reply.json()):
        wrong.append(f"{reply.status_code} {reply.text[:200]}: {shown(one)}")
    return wrong


def shown(one: FuzzCall) -> str:
    return f"{one.tool} {short(one.args)}"


def short(args: dict[str, Any]) -> str:
    return ", ".join(f"{name}={ascii(value)[:60]}" for name, value in args.items())
