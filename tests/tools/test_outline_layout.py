"""outline shows functions and classes first, names routes, keeps tests apart and thins long files evenly."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from tool_calls import answer, opened_tools, opened_tree

from llmc.retrieval.registrations import decorator_in, registrations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from llmc.envelope.reply import Reply

FILES = {
    "web/auth.ts": """const env = load();
export interface Options { mode: string }
export class Auth {
	private secret: string;
	constructor(secret: string) {
		this.secret = secret;
	}
	login(user: string) {
		const inner = () => user;
		return inner();
	}
}
router.use('/static', serveStatic);
router.post(
	'/refresh',
	asyncHandler(async (req, res) => {
		res.send();
	}),
);
""",
    "web/app.py": """import flask


@app.route("/health")
def health():
    return "ok"
""",
    "pkg/disk.go": "package disk\n\nfunc Free() int {\n\treturn 1\n}\n\nfunc TestFree(t *testing.T) {\n\tFree()\n}\n",
    "src/lib.rs": "pub fn one() -> u8 {\n    1\n}\n\n"
    "#[cfg(test)]\nmod tests {\n    #[test]\n    fn is_one() {\n    }\n}\n",
    "long.py": "".join(f"def step_{at:03}(x):\n    return x + {at}\n\n\n" for at in range(300)),
    "models.py": "LIMIT = 1\n\n\nclass Image:\n    class Meta:\n        abstract = True\n\n"
    + "".join(f"    field_{at:02} = {at}\n" for at in range(25))
    + "".join(
        f"    def public_{at:02}(self):\n        pass\n\n    def _private_{at:02}(self):\n        pass\n\n"
        for at in range(20)
    ),
    **{f"db/m{at}.py": "def up(db):\n    pass\n\n\ndef down(db):\n    pass\n" for at in range(8)},
    "db/base.py": "class Base:\n    def connect(self):\n        pass\n",
}


@pytest.fixture(scope="module")
def outline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Reply]]:
    folder, home = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("home")
    with opened_tree(folder, home, FILES) as (workspace, handles):

        def run(*paths: str, **args: Any) -> Reply:
            return answer(workspace, handles, "outline", {"path": list(paths), **args})

        yield run


def test_functions_classes_and_routes_come_first_and_fields_last(outline: Callable[..., Reply]) -> None:
    assert outline("web/auth.ts").text.split("\n")[1:] == [
        "web/auth.ts",
        "3-12 export class Auth",
        "5-7   constructor(secret: string)",
        "8-11   login(user: string)",
        "13 router.use('/static', serveStatic)",
        "14-19 router.post('/refresh')",
        " constants: env 1",
        " types: Options 2",
        " Auth fields: secret 4",
    ]


def test_a_decorated_route_is_named_and_tests_are_apart(outline: Callable[..., Reply]) -> None:
    lines = outline("web/app.py").text.split("\n")
    assert '4-6 @app.route("/health") def health()' in lines
    assert " tests: 1 function: TestFree 7" in outline("pkg/disk.go").text.split("\n")
    assert " tests: 1 function: is_one 7" in outline("src/lib.rs").text.split("\n")


def test_a_long_file_is_thinned_evenly_and_the_gaps_are_marked(outline: Callable[..., Reply]) -> None:
    reply = outline("long.py", budget=600)
    lines = reply.text.split("\n")
    numbers = [int(line.split("step_")[1][:3]) for line in lines if "step_" in line]
    gaps = [after - before for before, after in pairwise(numbers)]
    assert numbers[0] == 0
    assert numbers[-1] > 250
    assert max(gaps) - min(gaps) <= 1
    assert any(line.endswith(" more between these") for line in lines)
    assert reply.handle


def test_fields_are_counted_and_private_members_left_out_before_public_ones(outline: Callable[..., Reply]) -> None:
    whole = outline("models.py", budget=2_000).text
    assert " constants: LIMIT 1" in whole.split("\n")
    assert " Image fields: field_00 8, field_01 9" in whole
    assert whole.count("def _private_") == 20
    reply = outline("models.py", budget=360)
    lines = reply.text.split("\n")
    assert reply.text.count("def public_") == 20
    assert 0 < reply.text.count("def _private_") < 20
    assert " constants 1, fields: Meta 1, Image 25" in lines
    assert "field_00" not in reply.text
    assert reply.handle
    small = outline("models.py", budget=200).text
    assert 0 < small.count("def public_") < 20
    assert "def _private_" not in small
    assert "class Meta" in whole
    assert "class Meta" not in small


def test_a_range_of_a_file_can_be_outlined(outline: Callable[..., Reply]) -> None:
    names = [line.split("step_")[1][:3] for line in outline("long.py:401-410").text.split("\n") if "step_" in line]
    assert names == ["100", "101", "102"]


def test_a_folder_is_one_line_a_file_and_files_that_are_alike_share_one(outline: Callable[..., Reply]) -> None:
    lines = outline("db").text.split("\n")
    assert "db/" in lines
    assert " 8 files m0.py … m7.py: up, down" in lines
    assert " base.py: Base 1" in lines


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("javascript", "app.get('/a', list);\n", "app.get('/a', list)"),
        ("typescript", "fastify.route({ method: 'GET', url: '/a' });\n", "fastify.route({ method: 'GET', url: '/a' })"),
        ("python", "urlpatterns = [\n    path('a/', views.a),\n]\n", "path('a/', views.a)"),
        ("python", "run = commands.add_parser('run')\n", "run = commands.add_parser('run')"),
        ("ruby", "  get '/a', to: 'a#show'\n", "get '/a', to: 'a#show'"),
        ("go", '\tr.GET("/a", list)\n', 'r.GET("/a", list)'),
        ("rust", '    .route("/a/{id}", get(list))\n', '.route("/a/{id}", get(list))'),
        ("php", "Route::get('/a', [A::class, 'show']);\n", "Route::get('/a', [A::class, 'show'])"),
        ("csharp", 'app.MapGet("/a", List);\n', 'app.MapGet("/a", List)'),
        ("javascript", "emitter.on('close', stop);\n", "emitter.on('close', stop)"),
        ("ruby", "  before_action :login!, only: [:edit]\n", "before_action :login!, only: [:edit]"),
        ("ruby", "    get :feed, on: :collection\n", "get :feed, on: :collection"),
        ("go", '\tusers.Register(v1.Group("/users"))\n', 'users.Register(v1.Group("/users"))'),
        ("go", "\tv1.Use(Auth(true))\n", "v1.Use(Auth(true))"),
        ("rust", "        .merge(articles::router())\n", ".merge(articles::router())"),
        ("python", 'app.include_router(items, prefix="/items")\n', 'app.include_router(items, prefix="/items")'),
        ("typescript", "      .apply(AuthMiddleware)\n", ".apply(AuthMiddleware)"),
    ],
)
def test_registrations_of_common_frameworks_are_found(language: str, text: str, expected: str) -> None:
    assert [one.text for one in registrations(text, language)] == [expected]


def test_what_only_looks_like_a_registration_is_none() -> None:
    assert list(registrations("namespace app {\n}\n", "cpp")) == []
    assert list(registrations("const x = map.get('a');\n", "javascript")) == []


@pytest.mark.parametrize(
    "decorator",
    ['@app.get("/a")', "@click.command()", '@GetMapping("/a")', "@Get('a')", '[HttpGet("a")]', '#[get("/a")]'],
)
def test_decorators_that_register_are_found(decorator: str) -> None:
    assert decorator_in(f"{decorator}\n") == decorator
    assert decorator_in("@property\n") == ""


def test_named_files_have_their_members_however_many_files_are_named(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder, home = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("home")
    source = "class Notifier:\n    def on_review(self):\n        pass\n\n    def on_push(self):\n        pass\n"
    files = {f"lib/part{at}.py": source for at in range(6)}
    with opened_tree(folder, home, files) as (workspace, handles):

        def shown(*paths: str) -> str:
            return answer(workspace, handles, "outline", {"path": list(paths)}).text

        several = shown(*files)
        assert several.count("def on_review") == len(files)
        partly = shown("lib/part1.py", "lib/missing.py", "lib")
        assert partly.count("def on_review") == 1
        assert "lib/missing.py" in partly
        assert "part5.py" in partly


LONG_ATTRIBUTE = "".join(f"        new Property{at}(name: 'p{at}'),\n" for at in range(40))
ANNOTATED = {
    "src/InvoiceController.php": "<?php\nclass InvoiceController\n{\n"
    "    #[IsGranted('view_invoice')]\n    #[OA\\Response(response: 200, content: [\n" + LONG_ATTRIBUTE + "    ])]\n"
    "    #[Route(path: '/save-invoice/{customer}', name: 'invoice_create', methods: ['POST'])]\n"
    "    public function save(Customer $customer, Request $request): Response\n    {\n        return 1;\n    }\n}\n",
    "src/SessionResource.java": '@Path("session")\npublic class SessionResource {\n'
    '    @Operation(summary = "a", responses = {\n        @ApiResponse(code = 1),\n        @ApiResponse(code = 2)})\n'
    '    @Path("token")\n    @POST\n    public String requestToken(Date expiration) {\n        return "";\n    }\n}\n',
    "src/UsersController.cs": 'public class UsersController {\n    [HttpGet("users"), Authorize]\n'
    "    [ProducesResponseType(typeof(User),\n        200)]\n"
    "    public User Load(int id) {\n        return null;\n    }\n}\n",
    "src/users.ts": "export class UsersApi {\n  @Get(':id')\n  @ApiResponse({\n    status: 200,\n  })\n"
    "  async load(id: string): Promise<User> {\n    return find(id);\n  }\n}\n",
    "src/users.py": "class UsersView:\n    @app.route(\n        '/users',\n        methods=['GET'],\n    )\n"
    "    def load(self, user):\n        return self.user.name\n",
}
ROUTED = {
    "InvoiceController": "#[Route(path: '/save-invoice/{customer}', …)] "
    "public function save(Customer $customer, Request $request): Response",
    "SessionResource": '@Path("token") @POST public String requestToken(Date expiration)',
    "UsersController": '[HttpGet("users")] public User Load(int id)',
    "UsersApi": "@Get(':id') async load(id: string): Promise<User>",
    "UsersView": "@app.route('/users', methods=['GET']) def load(self, user)",
}


@pytest.fixture(scope="module")
def annotated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Reply]]:
    with opened_tools(tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("home"), ANNOTATED) as call:
        yield call


@pytest.mark.parametrize(("name", "expected"), ROUTED.items())
def test_the_declaration_is_shown_below_its_attributes_with_a_short_route(
    annotated: Callable[..., Reply], name: str, expected: str
) -> None:
    (path,) = [path for path, text in ANNOTATED.items() if f"class {name}" in text]
    assert any(line.endswith(expected) for line in annotated("outline", path=[name]).text.split("\n"))
    assert any(line.endswith(expected) for line in annotated("outline", path=[path]).text.split("\n"))


def test_the_line_below_long_attributes_defines_the_symbol(annotated: Callable[..., Reply]) -> None:
    assert "48-51 InvoiceController · public function save(" in annotated("grep", pattern="function save").text
    assert "48 public function save(" in annotated("refs", name="save").text
    titles = annotated("calls", name="InvoiceController.save").text
    assert "InvoiceController.save(Customer $customer, Request $request)" in titles


def test_the_outline_of_a_denied_file_says_that_it_is_denied(tmp_path: Path) -> None:
    with opened_tools(tmp_path / "tree", tmp_path / "home", {".env": "TOKEN=1\n", "a.py": "def a(): ...\n"}) as ask:
        assert ask("outline", path=[".env"]).text == "0 symbols in 0 files · denied: .env"
