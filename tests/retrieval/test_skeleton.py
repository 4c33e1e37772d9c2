"""The skeleton of a function: one line per statement, control flow and calls kept, everything else folded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from llmc.base.languages import has_statements, language_of
from llmc.indexer.syntax.lexical import lexical_spans
from llmc.retrieval.code_lines import CodeLines, code_lines
from llmc.retrieval.skeleton import Fold, skeleton
from llmc.retrieval.statements import is_left_out, join_lines, statements


def code(text: str, language: str) -> CodeLines:
    text = text.strip("\n")
    return code_lines(text, language, lexical_spans(language, text))


def shape(text: str, language: str = "python", most: int = 0) -> list[str]:
    """Each statement as `number level text`, each fold as `… lines`."""
    parts = skeleton(code(text, language), 1, most=most)
    return [f"… {int(one)}" if isinstance(one, Fold) else f"{one.number} {one.level} {one.text}" for one in parts]


TYPESCRIPT = """
export async function run(
	collection: string,
	query: Query,
): Promise<null | Item[]> {
	// Which columns are selected
	const { fields, key } = await parseLevel(
		schema,
		collection,
	);

	if (!fields) {
		return null;
	} else if (query.deep) {
		await nested({
			limit: 10,
			offset: 20,
		});
	}

	rows.forEach((row) => {
		delete row.key;
		clean(row);
	});
	return items;
}
"""

RUST = """
fn bind<'src, 'run>(&self, name: Name<'src>) -> RunResult<'src, Value> {
  if depth == LIMIT {
    return Err(Error::Recursion { last: name });
  }
  let values = arguments
    .iter()
    .map(|one| self.evaluate(one))
    .collect();
  let evaluator = Evaluator {
    depth: depth + 1,
    scope,
  };
  evaluator.run(&self.body)
}
"""

PYTHON = '''
def send(self, name, *, eta=None):
    """Send a task by its name.

    Not if it is (already) known.
    """
    parent = have = None
    if eta:  # pragma: no cover
        warn(
            "eta has no effect"
        )
    logger.info("sending %s", name)
    return self.route(name)
'''

GO = """
func (s *Server) One(ctx context.Context) error {
	entity, err := s.Next(ctx)
	if err != nil {
		return err
	}
	go s.bind(ctx, entity)
	return nil
}
"""


def test_statements_over_several_lines_are_joined() -> None:
    lines = shape(TYPESCRIPT, "typescript")
    assert lines[0] == "1 0 export async function run(collection: string, query: Query): Promise<null | Item[]>"
    assert lines[1] == "6 1 const { fields, key } = await parseLevel(schema, collection)"


def test_a_branch_with_one_statement_is_one_line() -> None:
    assert "11 1 if (!fields): return null" in shape(TYPESCRIPT, "typescript")


def test_a_check_of_go_joins_the_call_before_it_and_goes_if_it_only_logs() -> None:
    assert "2 1 entity, err := s.Next(ctx) or return err" in shape(GO, "go")
    assert not any("err != nil" in line for line in shape(GO.replace("return err", 'log.Error("no: %v", err)'), "go"))


def test_literals_are_part_of_their_statement_and_blocks_are_not() -> None:
    lines = shape(TYPESCRIPT, "typescript")
    assert "13 1 else if (query.deep): await nested({ limit: 10, offset: 20 })" in lines
    assert lines[-3:] == ["20 1 rows.forEach((row) =>", "22 2 clean(row)", "24 1 return items"]


def test_chains_struct_literals_and_lifetimes_of_rust() -> None:
    assert shape(RUST, "rust") == [
        "1 0 fn bind<'src, 'run>(&self, name: Name<'src>) -> RunResult<'src, Value>",
        "2 1 if depth == LIMIT: return Err(Error::Recursion { last: name })",
        "5 1 let values = arguments.iter().map(|one| self.evaluate(one)).collect()",
        "… 4",
        "13 1 evaluator.run(&self.body)",
    ]


def test_docstrings_comments_and_logging_are_folded() -> None:
    assert shape(PYTHON) == [
        "1 0 def send(self, name, *, eta=None):",
        '7 1 if eta: warn("eta has no effect")',
        "12 1 return self.route(name)",
    ]


def test_long_arguments_are_abbreviated_and_the_name_of_the_call_stays() -> None:
    (line,) = shape(f"await service.create({', '.join(f'argument_{at}' for at in range(30))});", "typescript")
    assert line.startswith("1 0 await service.create(argument_0, argument_1,")
    assert line.endswith("…)")
    assert len(line) < 120


def test_of_too_many_statements_the_deepest_levels_go() -> None:
    text = "def f(rows):\n" + "".join(f"    if a{at}():\n        b()\n        c()\n        d()\n" for at in range(10))
    lines = shape(text, most=15)
    assert lines[:3] == ["1 0 def f(rows):", "2 1 if a0():", "6 1 if a1():"]
    assert not [line for line in lines if line.endswith("c()")]
    assert len([line for line in lines if "if a" in line]) == 10


ARMS = """
fn plan(&mut self, one: Shape) -> Key {
    let key = match one {
        Shape::Point => None,
        Shape::Distance { origin: _, to } => {
            required = kinds;
            to
        }
        Shape::Line { .. }
        | Shape::Curve { .. } => self.last,
    };
    let depth = 1;
    key
}
"""


def test_arms_and_branches_that_give_a_value_stay() -> None:
    assert shape(ARMS, "rust") == [
        "1 0 fn plan(&mut self, one: Shape) -> Key",
        "2 1 let key = match one",
        "3 2 Shape::Point => None,",
        "4 2 Shape::Distance { origin: _, to } =>",
        "8 2 Shape::Line { .. } | Shape::Curve { .. } => self.last,",
    ]


def test_calls_in_levels_that_go_are_named() -> None:
    text = (
        "def f(rows):\n"
        + "    if a():\n        one()\n        suggest_shards(2)\n        rows.append(3)\n        b()\n" * 9
    )
    parts = skeleton(code(text, "python"), 1, most=15)
    assert [part.names for part in parts if isinstance(part, Fold)] == [("suggest_shards",)] * 9


@pytest.mark.parametrize("text", ["", "(" * 5000, "{\n" * 2000, '"""\n' * 3, "'" * 999, ")}]" * 400])
def test_text_that_is_not_code_has_a_skeleton_too(text: str) -> None:
    assert len(shape(text)) <= text.count("\n") + 1


def test_a_condition_is_never_abbreviated() -> None:
    condition = " && ".join(f"state.of_container_{at}(pod, generation) != expected[{at}]" for at in range(5))
    assert f"if ({condition})" in "\n".join(
        shape(f"function f() {{\n  if ({condition}) {{\n    go();\n  }}\n}}", "typescript")
    )


def test_what_a_later_branch_tests_stays() -> None:
    lines = shape(
        "def f(x):\n    label = 'a'\n    state = 'failed'\n    run(x)\n    if state == x:\n        return 1\n"
    )
    assert "3 1 state = 'failed'" in lines
    assert not any("label" in line for line in lines)


def test_a_comment_among_arguments_does_not_keep_a_statement_open() -> None:
    call = "\tif err := call(\n\t\tctx, // the (usual\n\t\tnil,\n\t); err != nil {\n\t\treturn err\n\t}\n"
    assert "8 1 second()" in shape("func f() {\n" + call + "\tsecond()\n}", "go")


def test_floor_division_is_not_a_comment() -> None:
    lines = shape(
        "def f(rest):\n    count = int(rest // 60)\n    if count == 0:\n        return None\n    use(count)\n"
    )
    assert lines[1:] == ["2 1 count = int(rest // 60)", "3 1 if count == 0: return None", "5 1 use(count)"]


def test_an_operator_at_the_end_of_a_line_continues_it() -> None:
    text = "func f() {\n\tif a.b != nil ||\n\t\t(c.d == nil && e.f) {\n\t\treturn\n\t}\n\tend()\n}"
    assert "2 1 if a.b != nil || (c.d == nil && e.f): return" in shape(text, "go")


def test_a_query_in_triple_quotes_is_one_statement() -> None:
    query = '    c.execute("""\n        SELECT (a\n    """, [1])\n'
    text = "def f(c):\n" + query + "    for row in c.fetchall():\n        use(row)\n"
    assert shape(text)[1:] == ['2 1 c.execute("…", [1])', "5 1 for row in c.fetchall(): use(row)"]


def test_plain_calls_go_before_branches() -> None:
    text = "def f(rows):\n" + "".join(
        f"    if a{at}():\n        b()\n        c()\n        if d{at}:\n            return {at}\n" for at in range(10)
    )
    lines = shape(text, most=35)
    assert sum("return" in line for line in lines) == 10
    assert not any("b()" in line for line in lines)


def every_statement(text: str, language: str = "python") -> list[str]:
    return [f"{one.number} {one.level} {one.text}" for one in statements(code(text, language), 1)]


def test_every_statement_stays_but_for_comments_logging_and_closing_brackets() -> None:
    assert every_statement(PYTHON) == [
        "1 0 def send(self, name, *, eta=None):",
        "6 1 parent = have = None",
        '7 1 if eta: warn("eta has no effect")',
        "12 1 return self.route(name)",
    ]
    assert "21 2 delete row.key" in every_statement(TYPESCRIPT, "typescript")
    assert "9 1 let evaluator = Evaluator { depth: depth + 1, scope }" in every_statement(RUST, "rust")


def test_data_and_texts_of_many_lines_keep_their_lines() -> None:
    table = "NAMES = {\n" + "".join(f"    'name_of_{at}': 'value of {at}',\n" for at in range(30)) + "}"
    assert len(every_statement(table)) == 32
    assert "3 1 SELECT (a" in every_statement('c.execute("""\n  -- one\n  SELECT (a\n""", [1])')


def test_a_group_of_declarations_has_one_line_for_each() -> None:
    assert every_statement('const (\n\tA = 1\n\tB = "x"\n)', "go") == ["1 0 const (", "2 1 A = 1", '3 1 B = "x"']


def test_what_sets_a_field_or_an_element_stays() -> None:
    text = """
def finish(self, job, name, rows):
    self.name = name
    self.state = DONE
    job.Status, job.Stopped = 1, 2
    job.run.count += 1
    rows["last"] = job
    local = 3
    this->size = 0
    if a.b == 3:
        return 4
"""
    assert shape(text)[1:] == [
        "3 1 self.state = DONE",
        "4 1 job.Status, job.Stopped = 1, 2",
        "5 1 job.run.count += 1",
        '6 1 rows["last"] = job',
        "8 1 this->size = 0",
        "9 1 if a.b == 3: return 4",
    ]


def test_plain_calls_go_before_what_sets_a_field() -> None:
    body = "".join(f"        call_{at}()\n        self.f{at} = {at}\n" for at in range(10))
    kept = shape(f"def f(self):\n    if a:\n{body}    return 1\n", most=14)
    assert sum("self.f" in one for one in kept) == 10
    assert not any("call_" in one for one in kept)


@pytest.mark.parametrize(
    ("statement", "is_left_out"),
    [
        ("logger.info('a')", True),
        ('log.Error("x: %v", err)', True),
        ("this.logger.warn(`a`)", True),
        ('klog.V(4).Infof("x")', True),
        ("$this->logger->error($ex->getMessage());", True),
        ('task_logger.info("none")', True),
        ("private static final Logger LOGGER = LoggerFactory.getLogger(A.class);", True),
        ("logging.getLogger(__name__).debug('a')", True),
        ("log(instance=page, action='publish')", False),  # an entry of an audit log
        ('log.Fatal("x")', False),
        ("self.log.append(x)", False),
        ("catalog.info(x)", False),
    ],
)
def test_only_calls_on_a_logger_are_logging(statement: str, *, is_left_out: bool) -> None:
    text = f"function f() {{\n  {statement}\n  go()\n}}"
    assert any(statement in line for line in every_statement(text)) is not is_left_out


def test_a_branch_that_only_logs_is_marked() -> None:
    text = "try:\n    go()\nexcept OSError:\n    logger.exception('no')\nstop()"
    assert every_statement(text) == ["1 0 try: go()", "3 0 except OSError: … logs 'no'", "5 0 stop()"]


TRIED = """\
func (s *Service) Run(ctx context.Context) (*Result, error) {
	if err := s.load(ctx); err != nil {
		return nil, err
	}
	if _, err = s.repo.Update(ctx, "status"); err != nil {
		return nil, fmt.Errorf("update: %w", err)
	}
	if err := s.notify(ctx); err != nil {
		log.Error("notify: %v", err)
	}
	for _, row := range s.rows {
		if err := row.check(); err != nil {
			continue
		}
	}
	if err := s.store(ctx); err != nil {
		s.failed = true
		return nil, err
	}
	if rows, err := s.find(ctx); err != nil {
		return nil, err
	} else if len(rows) == 0 {
		return nil, errNone
	}
	if err := s.save(); err != nil {
		s.failed = append(s.failed, err)
	}
	return s.result, nil
}
""".splitlines()


def test_a_call_of_go_and_its_check_are_one_line() -> None:
    assert [one.text for one in statements(code("\n".join(TRIED), "go"), 1)][1:] == [
        "s.load(ctx) or return err",
        's.repo.Update(ctx, "status") or return nil, fmt.Errorf("update: %w", err)',
        "s.notify(ctx)",
        "for _, row := range s.rows",
        "row.check() or continue",
        "if err := s.store(ctx); err != nil",
        "s.failed = true",
        "return nil, err",
        "if rows, err := s.find(ctx); err != nil: return nil, err",
        "else if len(rows) == 0: return nil, errNone",
        "if err := s.save(); err != nil: s.failed = append(s.failed, err)",
        "return s.result, nil",
    ]


JAVA = """\
@Path("items")
@Operation(summary = "Returns the items of a user, with those of the groups that the user belongs to, and more")
public class Items extends Base
        implements Reader, Writer {
    public String sign(
            long id, Date until) throws IOException, SecurityException {
        String[] parts = text.split("[, ]");
        call("a  b;", '{ ');
        if (id > 0) {
            LOGGER.info("positive");
        } else {
            LOGGER.info("negative");
        }
        switch (id) {
        case 1:
        case 2:
            run();
        }
        return sign(id);
    }
}
""".splitlines()


def test_types_after_throws_and_implements_open_no_literal() -> None:
    shown = [(one.level, one.text) for one in statements(code("\n".join(JAVA), "java"), 1)]
    assert (1, "public String sign(long id, Date until) throws IOException, SecurityException") in shown
    assert (2, "return sign(id)") in shown


def test_strings_stay_as_they_are() -> None:
    shown = [one.text for one in statements(code("\n".join(JAVA), "java"), 1)]
    assert 'String[] parts = text.split("[, ]")' in shown
    assert """call("a  b;", '{ ')""" in shown


def test_the_message_of_a_branch_that_only_logs_is_shown_and_a_long_one_is_cut() -> None:
    text = f"if paused:\n    logger.debug('Skipping %s: {'x' * 80}', name)\n    logger.info('again')\nstop()"
    assert every_statement(text)[0] == f"1 0 if paused: … logs 'Skipping %s: {'x' * 46}…"


def test_a_branch_with_nothing_but_a_comment_does_not_log() -> None:
    text = "try:\n    go()\nexcept OSError:\n    # cannot happen\nstop()"
    assert "3 0 except OSError: …" in every_statement(text)


def test_a_branch_whose_logging_is_left_out_is_marked_and_a_label_is_not() -> None:
    shown = [one.text for one in statements(code("\n".join(JAVA), "java"), 1)]
    assert shown[7:9] == ['if (id > 0) … logs "positive"', 'else … logs "negative"']
    assert shown[9:12] == ["switch (id)", "case 1:", "case 2: run()"]


def test_the_long_strings_of_a_long_annotation_are_cut() -> None:
    annotation = next(one.text for one in statements(code("\n".join(JAVA), "java"), 1) if "@Operation" in one.text)
    assert annotation.startswith('@Operation(summary = "Returns the items of a user')
    assert annotation.endswith('…")')


def test_a_branch_that_goes_on_after_the_lines_has_a_line_of_its_own() -> None:
    cut = ["if (port > 0) {", "    open(port);"]
    assert [one.text for one in statements(code("\n".join(cut), "java"), 1)] == ["if (port > 0)", "open(port)"]
    assert [one.text for one in statements(code("\n".join([*cut, "}"]), "java"), 1)] == ["if (port > 0): open(port)"]


def shown(text: str, language: str) -> list[str]:
    return [one.text for one in statements(code(text, language), 1)]


def test_a_chain_goes_on_with_a_name_that_begins_with_a_dollar_sign() -> None:
    text = "await db\n  .from('session')\n  .$if(!!skip, (qb) => qb.where(skip))\n  .execute();\n"
    assert shown(text, "typescript") == ["await db.from('session').$if(!!skip, (qb) => qb.where(skip)).execute()"]


def test_the_body_of_a_function_that_is_passed_follows_without_a_colon() -> None:
    text = "await retry(async () => {\n  return load(1);\n});\n"
    assert shown(text, "typescript") == ["await retry(async () => return load(1)"]


def test_a_short_body_of_a_function_that_is_passed_follows_without_a_colon() -> None:
    text = "setTimeout(() => {\n  remove(id);\n}, 1000);\n"
    assert shown(text, "typescript")[0] == "setTimeout(() => remove(id)"


def test_names_that_are_taken_from_an_object_over_several_lines_are_one_statement() -> None:
    text = "const {\n  results: [first],\n  total,\n} = await check({ id });\nuse(first);\n"
    assert shown(text, "typescript") == ["const { results: [first], total } = await check({ id })", "use(first)"]


def test_a_function_that_only_logs_is_marked() -> None:
    text = "  onError(name: string) {\n    console.error(`${name} failed`);\n  }\n\n  onExit() {\n    stop();\n  }\n"
    assert shown(text, "typescript") == ["onError(name: string) … logs `${name} failed`", "onExit(): stop()"]


def test_an_operator_that_begins_comments_elsewhere_is_code() -> None:
    text = "pay(\n    ttl=root.ttl.seconds\n    // 3600,\n    cut=root.cut,  # in hours\n)"
    assert every_statement(text) == ["1 0 pay(ttl=root.ttl.seconds // 3600, cut=root.cut)"]


def test_private_names_are_not_comments() -> None:
    text = (
        "class A {\n  #rows: Row[] = [];\n  #flush = throttle(() => {\n    this.#send();\n  }, 250);\n  #send() {}\n}"
    )
    shown = every_statement(text, "typescript")
    assert shown[:3] == ["1 0 class A", "2 1 #rows: Row[] = []", "3 1 #flush = throttle(() =>"]
    assert shown[-1] == "6 1 #send() {}"


def test_attributes_of_php_are_code_and_its_comments_are_not() -> None:
    text = "<?php\nclass A {\n    # once\n    #[Route('/x')]\n    public function run(): int { return 1; }\n}"
    assert "4 1 #[Route('/x')]" in every_statement(text, "php")
    assert not any("once" in line for line in every_statement(text, "php"))


def test_a_chain_too_long_for_a_line_keeps_its_indentation() -> None:
    calls = "".join(f"    .filter(\n        name_of_column_{at}=settings.VALUE_OF_{at},\n    )\n" for at in range(9))
    shown = every_statement(f"rows = (\n    Row.objects\n{calls})")
    assert shown[:4] == ["1 0 rows = (", "2 1 Row.objects", "3 1 .filter(", "4 2 name_of_column_0=settings.VALUE_OF_0,"]


FIELDS = """
@Singleton
public class Lookup {
    private final Storage storage;
    private final Timer timer;
    private final boolean throttled;
    private final Map<String, Info> known = new HashMap<>();

    @Inject
    public Lookup(Storage storage, Timer timer, boolean throttled) {
        this.storage = storage;
        this.timer = timer;
        this.throttled = throttled;
        start();
    }

    @Override
    public int size() {
        return known.size();
    }
}
"""


def test_fields_constructors_and_short_methods_take_few_lines() -> None:
    assert every_statement(FIELDS, "java") == [
        "2 0 @Singleton public class Lookup",
        "3 1 private final Storage storage; Timer timer; boolean throttled; Map<String, Info> known = new HashMap<>()",
        "9 1 @Inject public Lookup(Storage storage, Timer timer, boolean throttled)",
        "10 2 … keeps 3 parameters in fields of their names",
        "13 2 start()",
        "17 1 @Override public int size(): return known.size()",
    ]


def test_values_with_the_names_of_their_source_are_listed() -> None:
    entries = "".join(f"    name_of_{at}: asset.nameOf{at},\n" for at in range(12))
    copied = "".join(f"    name_{at}: asset.name_{at},\n" for at in range(12))
    shown = every_statement(f"send({{\n{copied}{entries}}});", "typescript")
    assert shown[:2] == ["1 0 send({", f"2 1 asset.{{{', '.join(f'name_{at}' for at in range(12))}}},"]
    assert shown[2:4] == ["14 1 name_of_0: asset.nameOf0,", "15 1 name_of_1: asset.nameOf1,"]


DEMO = Path(__file__).parents[2] / "data" / "demo"
SOURCES = [path for path in sorted(DEMO.rglob("*")) if path.is_file() and has_statements(language_of(path.name))]


@pytest.mark.parametrize("path", [path for path in SOURCES if path.suffix != ".go"], ids=lambda path: path.name)
def test_nothing_but_comments_and_logging_is_lost(path: Path) -> None:
    lines = code(path.read_text(), language_of(path.name))
    kept = "".join(one.text for one in join_lines(lines, 1) if not is_left_out(one.text))
    shown = "".join(re.sub(r" …(?: logs.*)?$", "", one.text) for one in statements(lines, 1))
    assert letters(shown) == letters(kept)


def letters(text: str) -> str:
    """Without brackets and punctuation, and the modifiers that fields share."""
    return re.sub(r"(?:(?:public|private|protected|static|final|readonly)\s)+|[\s(){}\[\];,:]", "", text)


def test_a_check_of_go_that_only_logs_stays_before_its_else() -> None:
    text = "func f() {\n\tif err != nil {\n\t\tslog.Error(err)\n\t} else {\n\t\tsince = started\n\t}\n}"
    assert every_statement(text, "go")[1:] == ["2 1 if err != nil … logs", "4 1 else: since = started"]
