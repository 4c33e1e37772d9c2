"""The code graph of TypeScript and JavaScript: index files, re-exports, tsconfig paths, workspaces, CommonJS."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from graph_world import GraphWorld, graph_world

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILES = {
    "src/items-from-cart/items-from-cart.ts": "export function itemsFromCart(): number {\n  return 2;\n}\n",
    "src/checkout.ts": "import { itemsFromCart } from './items-from-cart/items-from-cart.js';\n\n"
    "export function checkout() {\n  return itemsFromCart();\n}\n",
    "tsconfig.json": '{\n  // comments are allowed\n  "compilerOptions": {"paths": {"@/*": ["./src/*"]}},\n}\n',
    "package.json": '{"name": "shop", "workspaces": ["packages/*"]}',
    "packages/money/package.json": '{"name": "@shop/money", "main": "dist/index.js"}',
    "packages/money/src/index.ts": "export function format(cents: number): string {\n  return String(cents);\n}\n",
    "src/items/index.ts": "export { ItemService } from './service';\nexport * from './types';\nexport default make;\n"
    "function make() {\n  return 1;\n}\n",
    "src/items/types.ts": "export interface Repo {\n  find(id: string): Promise<Item>;\n}\nexport class Item {\n"
    "  get total(): number { return 1; }\n  print(): void {}\n}\n",
    "src/items/service.ts": """\
import type { Repo, Item } from './types';
import { format } from '@shop/money';

export class ItemService implements Repo {
  #cache = new Map<string, Item>();

  constructor(private readonly repo: Repo) {}

  async find(id: string): Promise<Item> {
    const item = await this.repo.find(id);
    item.print();
    this.#note(format(item.total));
    return item;
  }

  #note(text: string): void {
    console.log(text);
  }
}
""",
    "src/routes.ts": """\
import make, { ItemService as Service, Item } from '@/items';
import * as items from './items';

export function list(req: Request) {
  const service = new Service(null);
  service.find('1');
  return make();
}

export const handlers = (router: any) => {
  router.get('/items', list);
  router.find('x');
  return new items.Item();
};
""",
    "lib/legacy.js": """\
const { helper, other: renamed } = require('./tools');
const tools = require('./tools');

class Legacy {
  run() {
    helper();
    renamed();
    return tools.helper();
  }
}

module.exports = Legacy;
""",
    "lib/tools.js": "function helper() {}\nexports.other = function () {};\nmodule.exports.helper = helper;\n",
    "src/routes.test.ts": """\
import { list } from './routes';

describe('list', () => {
  it('lists', () => {
    expect(list(null as any)).toBe(1);
  });
});
""",
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GraphWorld]:
    with graph_world(tmp_path_factory.mktemp("ecma"), FILES) as made:
        yield made


def test_calls_go_through_index_files_aliases_and_tsconfig_paths(world: GraphWorld) -> None:
    assert world.callees("list") == {
        "src/items/service.ts:ItemService": "exact",
        "src/items/service.ts:ItemService.find": "likely",
        "src/items/index.ts:make": "exact",
    }


def test_a_module_path_that_contains_the_word_from_is_resolved(world: GraphWorld) -> None:
    assert world.callees("checkout") == {"src/items-from-cart/items-from-cart.ts:itemsFromCart": "exact"}


def test_parameter_properties_private_members_and_packages_are_resolved(world: GraphWorld) -> None:
    assert world.callees("ItemService.find") == {
        "src/items/types.ts:Repo.find": "exact",
        "src/items/types.ts:Item.print": "likely",
        "src/items/service.ts:ItemService.#note": "exact",
        "packages/money/src/index.ts:format": "exact",
        "src/items/types.ts:Item.total": "likely",
    }


def test_a_handler_that_is_registered_is_reported(world: GraphWorld) -> None:
    assert world.callers("list") == {"src/routes.ts:handlers": "exact", "src/routes.test.ts:list.lists": "exact"}
    assert "passed as a value in handlers" in world.text("impls", name="list")


def test_an_untyped_receiver_is_only_a_guess(world: GraphWorld) -> None:
    assert world.callees("handlers") == {
        "src/routes.ts:list": "exact",
        "src/items/types.ts:Item": "exact",
    }
    assert "src/items/service.ts:ItemService.find" in world.callees("handlers", guesses=True)


def test_interfaces_name_their_implementations(world: GraphWorld) -> None:
    assert [one["name"] for one in world.ask("impls", name="Repo").data["definitions"][0]["types"]] == ["ItemService"]
    members = world.ask("impls", name="Repo.find").data["definitions"][0]["members"]
    assert [one["name"] for one in members] == ["ItemService.find"]


def test_commonjs_modules_are_resolved(world: GraphWorld) -> None:
    assert world.callees("Legacy.run") == {"lib/tools.js:helper": "exact", "lib/tools.js:other": "exact"}


def test_cases_of_a_framework_are_tests(world: GraphWorld) -> None:
    text = world.text("tests", name="list")
    assert text.startswith("1 test directly")
    assert "src/routes.test.ts\n4 list.lists" in text


def test_a_broken_configuration_costs_only_its_aliases(tmp_path_factory: pytest.TempPathFactory) -> None:
    files = {
        "tsconfig.json": '{"compilerOptions": {"paths": 3',
        "a.ts": "import { b } from './b';\nexport const a = () => b();\n",
        "b.ts": "export function b() {}\n",
    }
    with graph_world(tmp_path_factory.mktemp("broken"), files) as world:
        assert world.callees("a") == {"b.ts:b": "exact"}


def test_callers_under_another_name_are_found(tmp_path_factory: pytest.TempPathFactory) -> None:
    files = {
        "base.ts": "class Core {\n  run() {}\n}\nexport { Core as Base };\n",
        "app.ts": "import { Base } from './base';\nexport class App extends Base {}\n",
        "tool.ts": "export default function build() {}\n",
        "use.ts": "import make from './tool';\nexport const go = () => make();\n",
    }
    with graph_world(tmp_path_factory.mktemp("renamed"), files) as world:
        assert [one["name"] for one in world.ask("impls", name="Core").data["definitions"][0]["types"]] == ["App"]
        assert world.callers("build") == {"use.ts:go": "exact"}


REGISTRY = {
    "src/driver.ts": "export interface Driver {\n  list(prefix: string): AsyncIterable<string>;\n}\n",
    "src/disk.ts": (
        "import type { Driver } from './driver.js';\n"
        "export class Disk implements Driver {\n"
        "  async *list(prefix: string) {\n    yield prefix;\n  }\n"
        "  async rebuildCatalog() {\n    return 1;\n  }\n}\n"
    ),
    "src/sync.ts": (
        "export async function sync(disk: any) {\n"
        "  await disk.rebuildCatalog();\n"
        "  for await (const file of disk.list('')) console.log(file);\n}\n"
    ),
    "src/sync.test.ts": (
        "import { Disk } from './disk.js';\n"
        "describe('sync', () => {\n"
        "  it('lists a', () => { const disk = new Disk(); disk.list('a'); });\n"
        + "  it('lists b', () => { const disk = new Disk(); disk.list('b'); });\n" * 4
        + "});\n"
    ),
}


def test_uses_by_name_are_listed_and_tests_are_counted_by_file(tmp_path: Path) -> None:
    with graph_world(tmp_path, REGISTRY) as world:
        callers = world.text("callers", name="Disk.list")
        assert "no caller resolved · 2 in tests · 1 by name, unverified" in callers
        assert "by name, unverified\n src/sync.ts 3 sync\n" in callers
        assert "tests\n src/sync.test.ts · 5" in callers
        assert "lists a" not in callers
        assert "lists a" in world.text("callers", name="Disk.list", all=True)
        impact = world.text("impact", name="Driver.list")
        assert " defined src/driver.ts:2 Driver.list(prefix: string): AsyncIterable<string>" in impact
        assert "overrides\n src/disk.ts:3 Disk.list" in impact
        assert "tests\n src/sync.test.ts · 5" in impact  # which call the override


STORAGE = {
    "src/manager.ts": (
        "import type { Driver } from './driver.js';\n"
        "export class Manager {\n  location(name: string): Driver {\n    return this.all.get(name);\n  }\n}\n"
    ),
    "src/storage.ts": (
        "import type { Manager } from './manager.js';\n"
        "export const getStorage = async (): Promise<Manager> => {\n"
        "  const { Manager } = await import('./manager.js');\n  return new Manager();\n};\n"
    ),
    "src/files.ts": (
        "import { getStorage } from './storage.js';\n"
        "export async function files() {\n  const storage = await getStorage();\n"
        "  const disk = storage.location('a');\n  return disk.list('');\n}\n"
    ),
}


def test_a_receiver_resolves_through_declared_result_types(tmp_path: Path) -> None:
    """A variable inside the function with the name of its declared result does not hide the type."""
    with graph_world(tmp_path, REGISTRY | STORAGE) as world:
        assert world.callers("Driver.list")["src/files.ts:files"] == "likely"


def test_the_only_method_of_a_telling_name_is_likely_called_and_a_library_name_is_not(tmp_path: Path) -> None:
    with graph_world(tmp_path, REGISTRY) as world:
        assert world.callees("sync") == {"src/disk.ts:Disk.rebuildCatalog": "likely"}
        assert "2 Disk.rebuildCatalog ~ ./disk.ts:6" in world.text("calls", name="sync")


def test_a_name_may_begin_with_its_module(world: GraphWorld) -> None:
    assert "itemsFromCart" in world.text("calls", name="checkout.checkout")
    assert "src/items/index.ts" in world.text("callers", name="items.make").split("\n")[1]
    assert "return itemsFromCart()" in world.text("read", target=["checkout.checkout"])
    assert "return itemsFromCart()" in world.text("read", target=["src/checkout.ts:checkout"])
    assert "src/items/service.ts" in world.text("read", target=["items.service.ItemService.find"])
    assert world.ask("read", target=["nothere.checkout"]).error


WRAPPED = {
    "src/mover.ts": (
        "import { traced } from 'tracing';\n\nasync function mover(id: string) {\n  return id;\n}\n\n"
        "export default traced({\n  name: 'mover (commands)',\n})(mover);\n"
    ),
    "src/row.tsx": (
        "function Row(props: Props) {\n  return null;\n}\n\nexport default observer(React.forwardRef<A, B>(Row));\n"
    ),
    "src/policy.ts": (
        "class Policy {\n  public can = (who: User): boolean => {\n    return true;\n  };\n"
        "  public deny(who: User) {}\n}\nconst policy = new Policy();\nexport const { can, deny: refuse } = policy;\n"
    ),
    "src/index.ts": "export * from './policy';\n",
    "src/api.tsx": (
        "import mover from './mover';\nimport ListRow from './row';\nimport { can, refuse } from './index';\n\n"
        "export async function move(user) {\n  if (!can(user)) {\n    refuse(user);\n  }\n  return mover('1');\n}\n\n"
        "export function page() {\n  return <ListRow />;\n}\n"
    ),
}


def test_a_default_export_that_wraps_a_function_is_that_function(tmp_path: Path) -> None:
    with graph_world(tmp_path, WRAPPED) as world:
        assert "src/api.tsx:move" in world.callers("mover")
        assert "src/api.tsx:page" in world.callers("Row")


def test_names_taken_from_an_object_are_its_members(tmp_path: Path) -> None:
    with graph_world(tmp_path, WRAPPED) as world:
        assert "src/api.tsx:move" in world.callers("Policy.can")
        called = world.callees("move")
        assert {"src/policy.ts:Policy.can", "src/policy.ts:Policy.deny", "src/mover.ts:mover"} <= called.keys()
