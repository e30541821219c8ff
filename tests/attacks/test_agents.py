"""An agent that does what it may not. Whatever it does, allowed files alone come out of it."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from factory.agents import launch
from factory.orders.stages import Stage
from shared.events.events import AgentEnded
from tests.factory.agents.scripted_agent import account_of, agents_of, logged
from tests.harness import Factory, blob, commit_all, fingerprint, git, manifest, order, stages

HELLO = 'write("hello.txt", "hello")\n'
TESTED = order(
    acceptance_files=[{"path": "tests/test_hello.py", "content": "def test_it():\n    pass\n"}],
    acceptance_commands=["grep -q pass tests/test_hello.py"],
)


def test_nothing_outside_its_workspace_can_be_written(factory: Factory) -> None:
    outside = factory.scratch / "outside.txt"
    outside.write_text("mine")
    git_folder, before = factory.repo / ".git", fingerprint(factory.repo)
    refs = git(factory.repo, "for-each-ref")
    body = f"""
    attempt("home", lambda: write(os.environ["HOME"] + "/.profile", "x"))
    attempt("allowed", lambda: write("hello.txt", "hello"))
    attempt("checkout", lambda: write({str(factory.repo / "hello.txt")!r}, "x"))
    attempt("outside", lambda: write({str(outside)!r}, "x"))
    attempt("hook", lambda: write({str(git_folder / "hooks/post-commit")!r}, "x"))
    attempt("config", lambda: write({str(git_folder / "config")!r}, "x"))
    attempt("ref", lambda: subprocess.run(["git", "update-ref", "refs/heads/evil", "HEAD"],
                                          check=True, capture_output=True))
    attempt("pointer", lambda: write(".git", "gitdir: /tmp"))
    attempt("pointer", lambda: os.rename(".git", ".git2"))
    attempt("start", lambda: write("/run/llmch/start", "x"))
    attempt("proc", lambda: write("/proc/sys/kernel/hostname", "x"))
    attempt("root", lambda: write("/etc/passwd", "x"))
    """
    assert factory.run(order(), [], **agents_of(factory, body)).verdict == "PASS"
    said = [tuple(line.split()[:2]) for line in logged(factory).splitlines()]
    assert {("home", "worked"), ("allowed", "worked")} < {*said}
    # A write to a private folder in the place of another may work, and changes nothing.
    inside = {"home", "allowed", "checkout", "outside"}
    assert len(said) == 12 and not [
        each for each in said if each[1] == "worked" and each[0] not in inside
    ]
    assert outside.read_text() == "mine" and fingerprint(factory.repo) == before
    kept = [each for each in git(factory.repo, "for-each-ref").splitlines() if "llmch" not in each]
    assert [each for each in kept if "work" not in each] == refs.splitlines()
    assert not (git_folder / "hooks/post-commit").exists()


def test_no_key_and_no_network_is_within_reach(
    factory: Factory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-key")
    body = """
    import socket
    print(dict(os.environ))
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        attempt("environ", lambda: print(path.read_text()))
    attempt("network", lambda: socket.create_connection(("1.1.1.1", 80), 1))
    attempt("parent", lambda: socket.socket(socket.AF_UNIX).connect("/run/dbus/system_bus_socket"))
    attempt("relay", lambda: write("hello.txt", call("hello?")))
    """
    summary = factory.run(order(), ["hello"], **agents_of(factory, body))
    assert summary.verdict == "PASS"
    said = logged(factory)
    assert "very-secret" not in said and "OPENAI_API_KEY" in said
    assert "network refused" in said and "parent refused" in said and "relay worked" in said


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (f'before = open(T).read(); write(T, "x"); {HELLO}\nwrite(T, before)', ()),
        (f'write(T, "def test_it(): return 1"); {HELLO}', ("tests/test_hello.py",)),
        (f"os.remove(T); os.mkdir(T); {HELLO}", ("tests/test_hello.py",)),
        (f'write("kept.txt", "x"); os.chmod("scripts/verify.sh", 0o777); {HELLO}', ("kept.txt",)),
        (f'write(".gitignore", "*"); write("lost/a.txt", "x"); {HELLO}', (".gitignore",)),
    ],
)
def test_what_it_may_not_write_is_put_back_and_named(
    factory: Factory, body: str, named: tuple[str, ...]
) -> None:
    commit_all(factory.repo, {"kept.txt": "as it was\n"})
    options = agents_of(factory, f'T = "tests/test_hello.py"\n{body}')
    summary = factory.run(TESTED, [], **options)
    assert summary.verdict == "PASS", "the plan's own test has passed"
    agent = summary.attempt_records[0].agent
    assert agent and set(named) <= set(agent.dropped)
    assert bool(agent.dropped) is bool(named)
    assert blob(factory.repo, factory.tip(), "kept.txt") == b"as it was\n"
    assert blob(factory.repo, factory.tip(), "tests/test_hello.py").endswith(b"pass\n")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('os.symlink("/etc/passwd", "hello.txt")', "is a symbolic link"),
        ('os.mkfifo("hello.txt")', "is no regular file"),
        ('os.mkdir("hello.txt")', "is a folder"),
        ('open("hello.txt", "wb").truncate(900_000_000)', "has over 204,800 bytes"),
        ('open("hello.txt", "wb").write(b"\\xff\\xfe")', "is not UTF-8 text"),
        ('write("hello.txt", "a\\0b")', "has a NUL"),
        ('write("hello.txt", "hello")', ""),
    ],
)
def test_only_a_text_file_can_be_proposed(factory: Factory, body: str, said: str) -> None:
    summary = factory.run(order(), [], max_attempts=1, **agents_of(factory, body))
    assert said in account_of(summary)
    assert stages(summary) == ([Stage.EXCEPTION] if said else [""])


@pytest.mark.rest
def test_what_git_ignores_is_not_there_when_it_is_judged(factory: Factory) -> None:
    """Neither a file nor bytecode that an agent hides helps what it proposes."""
    commit_all(factory.repo, {".gitignore": "ok.txt\n__pycache__/\n", "lib.py": "GOOD = 0\n"})
    good = order(acceptance_commands=["test -f hello.txt", "test ! -e ok.txt"])
    hidden = """
    import py_compile
    write("ok.txt", "x")
    write("other.py", "GOOD = 1")
    py_compile.compile("other.py", f"__pycache__/lib.{sys.implementation.cache_tag}.pyc",
                       invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    """
    believing = order(
        id="WO-02",
        allowed_files=["more.txt"],
        acceptance_commands=["test -f more.txt", 'python -c "import lib; assert lib.GOOD"'],
    )
    summary = factory.run(good, [], **agents_of(factory, f"{hidden}{HELLO}"))
    assert summary.verdict == "PASS"
    write = 'write("more.txt", "x")\n'
    options = {"max_attempts": 1, "branch": "other"}
    summary = factory.run(believing, [], **agents_of(factory, hidden + write), **options)
    assert stages(summary) == [Stage.ACCEPTANCE_FAILED]
    # The control: such bytecode is believed where it stays.
    control = py_compile_in(factory.repo)
    assert control == "1"


def py_compile_in(folder: Path) -> str:
    """Return what Python finds for a module whose bytecode says something else."""
    script = (
        "import py_compile, pathlib; pathlib.Path('other.py').write_text('GOOD = 1'); "
        "import importlib.util as u; py_compile.compile('other.py', u.cache_from_source('lib.py'), "
        "dfile='lib.py', invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH); "
        "import sys; sys.path.insert(0, ''); import lib; print(lib.GOOD)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", script], cwd=folder, capture_output=True, text=True, check=True
    )
    (folder / "other.py").unlink()
    return done.stdout.strip()


def test_a_file_of_the_repo_cannot_be_removed(factory: Factory) -> None:
    commit_all(factory.repo, {"hello.txt": "old\n"})
    body = 'os.remove("hello.txt")'
    summary = factory.run(order(), [], max_attempts=1, **agents_of(factory, body))
    assert "was removed, which no proposal can do" in account_of(summary)
    assert blob(factory.repo, "HEAD", "hello.txt") == b"old\n"


def test_nothing_is_left_running(factory: Factory) -> None:
    marker = "86399.25"
    body = f"""
    for _ in range(50):
        subprocess.Popen(["sleep", "{marker}"], start_new_session=True)
    {HELLO.strip()}
    """
    assert factory.run(order(), [], **agents_of(factory, body)).verdict == "PASS"
    assert not [each for each in _commands() if marker in each]
    assert any("pytest" in each for each in _commands()), "processes can be seen"


def _commands() -> list[str]:
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(each.read_bytes().decode("utf-8", "replace"))
        except OSError:
            continue
    return found


def test_a_disk_that_fills_ends_the_agent(
    factory: Factory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "DISK_BYTES", 16 * 2**20)
    body = """
    write("hello.txt", "hello")
    for number in range(64):
        pathlib.Path(os.environ["HOME"], str(number)).write_bytes(b"x" * 2**20)
    time.sleep(30)
    """
    summary = factory.run(order(), [], max_attempts=1, **agents_of(factory, body))
    assert "filled the disk" in account_of(summary)
    (ended,) = factory.seen(AgentEnded)
    assert ended.seconds < 20 and not ended.files


def test_what_it_prints_is_bounded(factory: Factory) -> None:
    body = f"""
    {HELLO.strip()}
    while True:
        os.write(1, b"\\x1b[31m" + b"noise " * 10_000)
    """
    summary = factory.run(order(), [], max_attempts=1, **agents_of(factory, body))
    assert "printed over" in account_of(summary)
    assert next(factory.run_folder.rglob("agent.stdout.log")).stat().st_size < 10 * 2**20


def test_two_agents_at_once_see_their_own_workspaces(factory: Factory) -> None:
    orders: list[dict[str, Any]] = [
        order(
            number,
            title=f"Write {number}",
            allowed_files=[f"hello{number}.txt"],
            acceptance_commands=[f"grep -q {number} hello{number}.txt"],
        )
        for number in (1, 2)
    ]
    body = """
    number = "1" if "hello1.txt" in TASK else "2"
    write(f"hello{number}.txt", call(number))
    print(sorted(os.listdir()))
    """
    plan = manifest(orders)
    replies = {f"WO-0{n}": [str(n)] for n in (1, 2)}
    summary = factory.run_all(plan, replies, jobs=2, **agents_of(factory, body))
    assert summary.verdict == "PASS"
    mode = stat.S_IMODE(factory.workspaces.stat().st_mode)
    assert mode and git(factory.repo, "show", f"{factory.tip()}:hello2.txt") == "2"
