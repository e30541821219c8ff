"""Tests of a plan in Go, judged at their places in the chain."""

from __future__ import annotations

import pytest

from shared.languages.go.go_language import GO
from shared.languages.go.judge_go import PlannedGo
from shared.languages.language_tools import ToolMissing, ToolResult, Tools
from shared.languages.planned_code import Chain, ChainCode, Fault
from shared.work_order.work_order import Interface, WorkOrder
from tests.shared.languages.chains import Order, chain_of
from tests.shared.languages.tool_runner import SandboxRunner, runner_for

MODULE = {"go.mod": "module example.org/play\n\ngo 1.21\n"}
GAME = "package game\n\ntype Game struct {\n\tWord string\n}\n\nfunc Score(guess string) int\n"
MORE = "package game\n\nfunc (g *Game) Play(guess string) bool\n\nfunc Rank(n int) string\n"


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> SandboxRunner:
    return runner_for(tmp_path_factory, "go")


def read(chain: Chain) -> ChainCode:
    assert GO.plans is not None
    return GO.plans.read_chain(chain)


def uses(runner: SandboxRunner, *orders: Order, repo: dict[str, str] | None = None) -> list[Fault]:
    with Tools(runner) as tools:
        chain = chain_of(*orders, repo=MODULE if repo is None else repo)
        return list(read(chain).use_faults(tools))


def inside(body: str) -> str:
    return f'package game\n\nimport "testing"\n\nfunc TestIt(t *testing.T) {{\n{body}\n}}\n'


def outside(body: str, *imports: str) -> str:
    named = "".join(f'import "{each}"\n' for each in ("testing", *imports))
    return f"package game_test\n\n{named}\nfunc TestIt(t *testing.T) {{\n{body}\n}}\n"


def test_a_fault_says_its_place_and_who_declares_the_name(runner: SandboxRunner) -> None:
    test = inside("if Score(5) != 1 { t.Fatal() }")
    (fault,) = uses(runner, Order({"game/game.go": GAME}, {"game/game_test.go": test}))
    assert (fault.code, fault.position) == ("E213", 1)
    assert str(fault.at) == "acceptance_files[0].content"
    assert fault.message.startswith("line 6, column 10: cannot use 5")
    assert fault.message.endswith("(declared by WO-01 in game/game.go)")


def test_names_of_later_orders_are_said_to_come_too_late(runner: SandboxRunner) -> None:
    test = inside('if Rank(1) != "one" { t.Fatal() }\nif (&Game{}).Play("a") { t.Fatal() }')
    first = Order({"game/game.go": GAME}, {"game/game_test.go": test})
    found = uses(runner, first, Order({"game/more.go": MORE}))
    assert [each.code for each in found] == ["E217", "E217"]
    assert all("declared only by WO-02" in each.message for each in found)


def test_a_test_from_outside_the_package_is_judged_too(runner: SandboxRunner) -> None:
    body = 'if game.Scores("a") != 1 { t.Fatal() }\nif game.Score("a", 1) != 1 { t.Fatal() }'
    test = outside(body, "example.org/play/game")
    found = uses(runner, Order({"game/game.go": GAME}, {"game/game_test.go": test}))
    assert sorted(each.code for each in found) == ["E211", "E212"]


def test_a_file_without_contract_may_hold_the_missing_name(runner: SandboxRunner) -> None:
    test = inside("if extra() != 1 { t.Fatal() }")
    order = Order({"game/game.go": GAME}, {"game/game_test.go": test}, writes=["game/extra.go"])
    assert uses(runner, order) == []


def test_helpers_in_tests_of_the_repository_are_known(runner: SandboxRunner) -> None:
    helper = "package game\n\nfunc helper() int { return 1 }\n"
    test = inside('if helper() != Score("a") { t.Fatal() }')
    repo = {**MODULE, "game/helper_test.go": helper}
    order = Order({"game/game.go": GAME}, {"game/game_test.go": test})
    assert uses(runner, order, repo=repo) == []


def test_code_of_the_repository_is_judged_as_it_is(runner: SandboxRunner) -> None:
    source = "package game\n\nfunc Score(guess string) int { return len(guess) }\n"
    test = inside("if Score(5) != 1 { t.Fatal() }")
    found = uses(
        runner,
        Order({}, {"game/game_test.go": test}, writes=["a.md"]),
        repo={**MODULE, "game/game.go": source},
    )
    assert [each.code for each in found] == ["E213"]


@pytest.mark.parametrize(
    "body",
    [
        'if Score("a", true) != 1 { t.Fatal() }',
        "if Score(5) != 1 { t.Fatal() }",
        'n, err := Score("a")\nif err != nil || n != 1 { t.Fatal() }',
        'n := Score("a")\nm := n\nif m == "a" { t.Fatal() }',
        'if (&Game{}).Play("a", 1) { t.Fatal() }',
    ],
)
def test_old_code_that_an_order_rewrites_may_be_used_as_it_is_not_yet(
    body: str, runner: SandboxRunner
) -> None:
    source = (
        "package game\n\ntype Game struct{}\n\n"
        "func (g *Game) Play(guess string) bool { return true }\n\n"
        "func Score(guess string) int { return len(guess) }\n"
    )
    repo = {**MODULE, "game/game.go": source}
    tests = {"game/game_test.go": inside(body)}
    assert uses(runner, Order({}, tests, writes=["game/game.go"]), repo=repo) == []
    found = uses(runner, Order({}, tests, writes=["game/more.go"]), repo=repo)
    assert {each.code for each in found} & {"E212", "E213", "E214"}


def test_a_module_that_cannot_be_had_here_is_not_a_fault_of_the_test(runner: SandboxRunner) -> None:
    test = outside("require.True(t, true)", "example.org/more/require")
    manifest = f"{MODULE['go.mod']}\nrequire example.org/more v1.2.0\n"
    order = Order({"game/game.go": GAME}, {"game/game_test.go": test})
    found = uses(runner, order, repo={**MODULE, "go.mod": manifest})
    assert [each.code for each in found if each.code[0] == "E"] == []


def test_a_module_without_a_manifest_yet_is_guessed_by_its_imports(runner: SandboxRunner) -> None:
    test = outside("if game.Score(1) != 1 { t.Fatal() }", "example.org/new/game")
    order = Order({"game/game.go": GAME}, {"game/game_test.go": test}, writes=["go.mod"])
    assert [each.code for each in uses(runner, order, repo={})] == ["E213"]


def test_a_module_below_the_root_is_judged_in_its_folder(runner: SandboxRunner) -> None:
    test = inside("if Score(5) != 1 { t.Fatal() }")
    repo = {"server/go.mod": MODULE["go.mod"]}
    order = Order({"server/game/game.go": GAME}, {"server/game/game_test.go": test})
    assert [each.code for each in uses(runner, order, repo=repo)] == ["E213"]


WORKSPACE = {
    "go.work": "go 1.21\n\nuse (\n\t./client\n\t./server\n)\n",
    "client/go.mod": "module example.org/client\n\ngo 1.21\n",
    "server/go.mod": "module example.org/server\n\ngo 1.21\n",
}
NESTED = {
    "go.mod": "module example.org/play\n\ngo 1.21\n",
    "tools/go.mod": "module example.org/tools\n\ngo 1.21\n",
}


@pytest.mark.rest
@pytest.mark.parametrize(
    ("repo", "first", "second"), [(WORKSPACE, "client", "server"), (NESTED, "game", "tools/game")]
)
def test_each_module_is_judged_in_its_folder(
    runner: SandboxRunner, repo: dict[str, str], first: str, second: str
) -> None:
    wrong, right = (inside(f"if Score({each}) != 1 {{ t.Fatal() }}") for each in ("5", '"a"'))
    stubs = {f"{folder}/game.go": GAME for folder in (first, second)}
    for texts, index in (((wrong, right), 0), ((right, wrong), 1)):
        paths = (f"{first}/game_test.go", f"{second}/game_test.go")
        found = uses(runner, Order(stubs, dict(zip(paths, texts, strict=True))), repo=repo)
        assert [(each.code, each.at.parts[1]) for each in found] == [("E213", index)]


def test_modules_of_a_workspace_use_each_other(runner: SandboxRunner) -> None:
    test = outside("if game.Score(1) != 1 { t.Fatal() }", "example.org/server/game")
    order = Order({"server/game/game.go": GAME}, {"client/use/use_test.go": test})
    (found,) = uses(runner, order, repo=WORKSPACE)
    assert found.code == "E213"
    assert "WO-01 in server/game/game.go" in found.message


def test_code_of_each_module_is_compared_with_its_contract(runner: SandboxRunner) -> None:
    assert GO.conformance is not None
    paths = ("client/game/game.go", "server/game/game.go")
    code = RIGHT.replace("Score(word string) int { return len(word) }", "Score() int { return 1 }")
    stubs = [Interface(path=each, stub=GAME) for each in paths]
    for wrong in paths:
        sources = {**WORKSPACE, **dict.fromkeys(paths, RIGHT), wrong: code}
        with Tools(runner) as tools:
            (found,) = GO.conformance.check_conformance(stubs, sources, tools)
        assert (found.path, found.name) == (wrong, "Score")


def test_without_a_compiler_there_is_one_warning() -> None:
    class Missing:
        def run(self, files: object, argv: object, *, seconds: float) -> ToolResult:
            raise ToolMissing("go is not installed")

        def close(self) -> None:
            pass

    test = inside("if Score(5) != 1 { t.Fatal() }")
    orders = [Order({"game/game.go": GAME}, {f"game/a{n}_test.go": test}) for n in range(2)]
    for runner, reason in ((Missing(), "go is not installed"), (None, "no sandbox")):
        with Tools(runner) as tools:
            (fault,) = read(chain_of(*orders, repo=MODULE)).use_faults(tools)
        assert (fault.code, fault.position) == ("W224", 0)
        assert reason in fault.message


@pytest.mark.parametrize(
    ("imported", "code"),
    [
        ("example.org/play/game", None),
        ("example.org/play/later", "E217"),
        ("example.org/play/board", "E210"),
        ("github.com/google/uuid", "W221"),
        ("golang.org/x/exp/slices", None),
        ("encoding/json", None),
        ("nowhere", "W101"),
    ],
)
def test_a_package_that_a_test_imports_has_to_be_there(imported: str, code: str | None) -> None:
    manifest = f"{MODULE['go.mod']}\nrequire (\n\tgolang.org/x/exp v0.1.0\n)\n"
    test = outside("t.Fail()", imported)
    orders = Order({"game/game.go": GAME}, {"game/game_test.go": test}), Order({"later/a.go": ""})
    chain = chain_of(*orders, repo={"go.mod": manifest})
    needs = [*read(chain).needs_of_file(1, chain.orders[0].acceptance_files[0])]
    assert [each.code for each in needs] == ([code] if code else [])


RIGHT = (
    "package game\n\ntype Game struct {\n\tWord string\n\tn    int\n}\n\n"
    "func Score(word string) int { return len(word) }\n\n"
    "func (g *Game) Play(s string) bool { return s == g.Word }\n\n"
    'func Rank(n int) string { return "" }\n'
)


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("", "", None),
        ("Score(word string) int { return len(word) }", "Score(n int) int { return n }", "Score"),
        ("func Score", "func Points", "Score"),
        ("Word string", "Word []byte", "Game.Word"),
        ("Word string\n\tn    int", "n int", "Game.Word"),
        ("Play(s string) bool { return s == g.Word }", "Play() bool { return true }", "Game.Play"),
        ("func (g *Game) Play", "func (g Game) Won", "Game.Play"),
        ('string { return "" }', '(string, error) { return "", nil }', "Rank"),
    ],
)  # fmt: skip
def test_code_that_breaks_its_contract_is_found(
    runner: SandboxRunner, old: str, new: str, name: str | None
) -> None:
    code = RIGHT.replace(old, new) if old else RIGHT
    stubs = [Interface(path="game/game.go", stub=GAME + MORE.removeprefix("package game\n"))]
    assert GO.conformance is not None
    with Tools(runner) as tools:
        found = GO.conformance.check_conformance(stubs, {**MODULE, "game/game.go": code}, tools)
    assert [each.name for each in found] == ([name] if name else [])


GENERIC = (
    'package game\n\nimport "sort"\n\n'
    "func Keys[K comparable, V any](m map[K]V) []K { return nil }\n\n"
    "func First[T int | string](all []T) T { sort.Slice(all, nil); return all[0] }\n"
)


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("", "", None),
        ("[K comparable, V any](m map[K]V) []K", "[A comparable, B any](m map[A]B) []A", None),
        ("[T int | string]", "[T int | string | float64]", None),
        ("[T int | string]", "[T int]", "First"),
        ("[K comparable, V any](m map[K]V)", "[K comparable](m map[K]int)", "Keys"),
        ("(m map[K]V) []K", "(m map[K]V) []V", "Keys"),
        ("[K comparable, V any](m map[K]V) []K", "(m map[string]int) []string", "Keys"),
    ],
)
def test_generic_functions_are_compared_by_their_constraints(
    runner: SandboxRunner, old: str, new: str, name: str | None
) -> None:
    code = GENERIC.replace(old, new) if old else GENERIC
    stub = (
        "package game\n\nfunc Keys[K comparable, V any](m map[K]V) []K\n\n"
        "func First[T int | string](all []T) T\n"
    )
    assert GO.conformance is not None
    with Tools(runner) as tools:
        found = GO.conformance.check_conformance(
            [Interface(path="game/game.go", stub=stub)], {**MODULE, "game/game.go": code}, tools
        )
    assert [each.name for each in found] == ([name] if name else [])


PAIRS = """package game

import (
	"cmp"
	"time"
)

type Pair[K cmp.Ordered, V any] struct { key K; value V; at time.Time }

func (p *Pair[K, V]) Set(key K, value V) (old V, ok bool) { return p.value, true }

func (p Pair[_, V]) Map(change func(V) V) []V { return nil }

func (p *Pair[K, V]) Since(at time.Time) time.Duration { return at.Sub(p.at) }
"""
PAIRS_DECLARED = """package game

import (
	"cmp"
	"time"
)

type Pair[A cmp.Ordered, B any] struct{}

func (p *Pair[A, B]) Set(key A, value B) (B, bool)

func (p Pair[A, B]) Map(change func(B) B) []B

func (p *Pair[_, _]) Since(at time.Time) time.Duration
"""


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("", "", None),
        ("[K cmp.Ordered, V any]", "[K comparable, V any]", None),
        (
            "func (p Pair[_, V]) Map(change func(V) V) []V",
            "func (q Pair[X, Y]) Map(by func(Y) Y) []Y",
            None,
        ),
        ("[K cmp.Ordered, V any]", "[K cmp.Ordered, V ~int]", "Pair"),
        ("(key K, value V) (old V", "(key K, value K) (old V", "Pair.Set"),
        ("(old V, ok bool) { return p.value, true }", "bool { return true }", "Pair.Set"),
        ("change func(V) V", "change func(V) bool", "Pair.Map"),
        (
            "Since(at time.Time) time.Duration { return at.Sub(p.at)",
            "Since(at time.Duration) time.Duration { return at",
            "Pair.Since",
        ),
        ("func (p *Pair[K, V]) Since(", "func (p *Pair[K, V]) After(", "Pair.Since"),
    ],
)
def test_methods_of_generic_types_are_compared_by_their_signatures(
    runner: SandboxRunner, old: str, new: str, name: str | None
) -> None:
    assert old in PAIRS
    code = PAIRS.replace(old, new) if old else PAIRS
    stub = Interface(path="game/pair.go", stub=PAIRS_DECLARED)
    assert GO.conformance is not None
    with Tools(runner) as tools:
        found = GO.conformance.check_conformance([stub], {**MODULE, "game/pair.go": code}, tools)
    assert [each.name for each in found] == ([name] if name else [])


def test_types_of_other_packages_are_those_that_the_contract_imports(runner: SandboxRunner) -> None:
    stub = 'package game\n\nimport "time"\n\nfunc Wait(until time.Time) time.Duration\n'
    code = stub.replace("\nfunc", "\nvar zero time.Time\n\nfunc").rstrip() + " { return 0 }\n"
    assert GO.conformance is not None
    with Tools(runner) as tools:
        for written, names in ((code, []), (code.replace("until time.Time", "t int"), ["Wait"])):
            files = {**MODULE, "game/game.go": written}
            interface = Interface(path="game/game.go", stub=stub)
            found = GO.conformance.check_conformance([interface], files, tools)
            assert [each.name for each in found] == names


def test_receivers_may_call_type_parameters_otherwise_in_a_later_contract() -> None:
    before, after = "Pair[A, B]) Set(key A, value B) (B", "Pair[X, Y]) Set(key X, value Y) (Y"
    later = PAIRS_DECLARED.replace(before, after)
    wrong = PAIRS_DECLARED.replace("Set(key A, value B) (B", "Set(key A, value B) (A")
    for stub, codes in ((later, []), (wrong, ["E204"])):
        orders = Order({"game/pair.go": PAIRS_DECLARED}), Order({"game/pair.go": stub})
        assert [
            each.code for each in read(chain_of(*orders, repo=MODULE)).interface_faults()
        ] == codes


def test_what_was_not_written_or_does_not_parse_breaks_its_contract() -> None:
    stubs = [Interface(path="game/game.go", stub=GAME)]
    assert GO.conformance is not None
    with Tools() as tools:
        (missing,) = GO.conformance.check_conformance(stubs, {}, tools)
        (broken,) = GO.conformance.check_conformance(stubs, {"game/game.go": "func ("}, tools)
    assert "was not written" in missing.message
    assert "does not parse" in broken.message


def test_contracts_in_force_keep_what_later_orders_leave_alone() -> None:
    orders = [
        _order("WO-01", GAME),
        _order("WO-02", "package game\n\nfunc Rank(n int) string\n", "Score"),
    ]
    assert GO.conformance is not None
    (stub,) = GO.conformance.contracts_in_force(orders)
    assert "type Game struct" in stub.stub
    assert "func Rank(n int) string" in stub.stub
    assert "Score" not in stub.stub


def _order(label: str, stub: str, *changes: str) -> WorkOrder:
    return WorkOrder(
        id=label,
        title="Write the game",
        intent="Write it.",
        allowed_files=("game/game.go",),
        forbidden=(),
        context_files=(),
        acceptance_commands=("go test ./game",),
        interfaces=(Interface(path="game/game.go", stub=stub),),
        changes=changes,
    )


def test_hollow_code_passes_what_proves_nothing_and_fails_what_proves_something(
    runner: SandboxRunner,
) -> None:
    assert GO.conformance is not None
    stub = Interface(path="game/game.go", stub=GAME + MORE.removeprefix("package game\n"))
    hollow = GO.conformance.build_skeleton([stub], {})
    strong, weak = inside('if Score("ab") != 2 { t.Fatal() }'), inside('Score("ab")')
    for test, passes in ((strong, False), (weak, True)):
        files = {**MODULE, **hollow, "game/game_test.go": test}
        result = runner.run(files, ["go", "test", "-vet=off", "./game"], seconds=120)
        assert (result.exit_code == 0) is passes, result.stdout


def test_a_package_that_an_order_removes_is_not_there_any_more() -> None:
    test = outside("t.Fail()", "example.org/play/old")
    repo = {**MODULE, "old/old.go": "package old\n\nfunc Score() int { return 1 }\n"}
    orders = Order(tests={"a/a_test.go": test}), Order(removes=["old/old.go"])
    before, after = chain_of(*orders, repo=repo), chain_of(*reversed(orders), repo=repo)
    assert [*read(before).needs_of_file(1, before.orders[0].acceptance_files[0])] == []
    (need,) = read(after).needs_of_file(2, after.orders[1].acceptance_files[0])
    assert need.code == "E210" and need.message.endswith("that WO-01 removes")


def test_what_a_removed_file_declared_is_not_in_the_view_any_more() -> None:
    repo = {**MODULE, "old/old.go": "package old\n", "old/b.go": "package old\n"}
    chain = chain_of(Order(), Order(removes=["old/old.go"]), repo=repo)
    planned = PlannedGo(chain)
    assert {"old/old.go", "old/b.go"} <= planned.view(1).keys()
    assert "old/old.go" not in planned.view(2)
    own = chain_of(Order({"x/x.go": "package x\n"}), Order(removes=["x/x.go"]), repo=repo)
    planned = PlannedGo(own)
    assert ["x/x.go" in planned.view(at) for at in (1, 2)] == [True, False]
