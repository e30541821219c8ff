"""Runs a command's Python as the interpreter would, and shows whether it came to its own end.

The text of this file is the code of a `python -c` in the sandbox. So it imports nothing of llmch,
and runs on Python 3.8 and later. Where the command's own code ends well, the process exits with a
code that was chosen for this one command, in place of 0. An exit with 0 is then one by which
something else ended the command: a call that no Python code sees. `sys.exit` and `os._exit` in the
code under test are seen here, and named. Arguments, `__main__`, the path of imports, tracebacks and
all other exit codes are as without this file.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # to import `typing` takes longer than all else here
if TYPE_CHECKING:
    import ast
    from types import CodeType, FrameType, TracebackType
    from typing import Any, NoReturn

EARLY = "The command ended before its own end: "
AT_IMPORT = (
    "the code under test exits at {} while it is imported. "
    'Put what a program does below `if __name__ == "__main__":`.'
)
IN_CALL = "the code under test exits at {}. Return or raise there, so that the caller goes on."
OWN_FRAMES = 2  # of `run` and `run_main`, in the traceback of the command's code


class Launch:
    """Run one command; `end` is the exit code of its own end.

    `strict` says that the command is a test, which has to get to its last statement. A program may
    be ended by a function of another module.
    """

    def __init__(self, end: int, strict: bool, what: str) -> None:
        self.end = end
        self.strict = strict
        self.what = what
        self.names = sys.modules["__main__"].__dict__
        self.folder = os.getcwd() + os.sep  # noqa: PTH109  # pathlib is slow to import
        self.process = os.getpid()
        self.stderr = os.dup(2)  # a test runner has its own at this number while it runs a test
        self.is_over = False

    def run(self, option: str, arguments: list[str]) -> NoReturn:
        """Run the code, the module or the script, and exit."""
        try:
            self.run_main(option, arguments)
        except SystemExit as error:
            self.leave(error)
        except BaseException as error:  # shown as the interpreter would
            trace = below(error.__traceback__)
            sys.excepthook(type(error), error.with_traceback(trace), trace)
            sys.exit(130 if isinstance(error, KeyboardInterrupt) else 1)
        self.leave(SystemExit(0))

    def run_main(self, option: str, arguments: list[str]) -> None:
        sys.argv[:] = [option or self.what, *arguments]
        has_folder = bool(sys.path) and not sys.path[0]  # of the main module; not with -I or -P
        if option == "-m":
            import runpy

            if has_folder:
                sys.path[0] = self.folder[:-1]
            runpy._run_module_as_main(self.what)  # type: ignore[attr-defined]  # as `-m` does
        elif option == "-c":
            exec(compile(self.what, "<string>", "exec", dont_inherit=True), self.names)  # noqa: S102
        else:
            from _frozen_importlib_external import SourceFileLoader

            path = os.path.abspath(self.what)  # noqa: PTH100
            if has_folder:
                sys.path[0] = os.path.dirname(os.path.realpath(path))  # noqa: PTH120
            loader = SourceFileLoader("__main__", path)
            self.names.update(__file__=path, __cached__=None, __loader__=loader)
            source = read_script(path)
            exec(compile(source, path, "exec", dont_inherit=True), self.names)  # noqa: S102

    def leave(self, error: SystemExit) -> NoReturn:
        """Exit as the command does; with `end` if that is its own end, with 1 if it is early."""
        if os.getpid() != self.process:
            raise error
        if error.code is not None and error.code != 0:
            is_end = isinstance(error.code, int) and error.code & 0xFF == self.end
            raise SystemExit(1) if is_end else error
        frames = []
        trace = below(error.__traceback__)
        while trace is not None:
            frames.append((trace.tb_frame, trace.tb_lineno, trace.tb_lasti))
            trace = trace.tb_next
        if self.is_early(frames):
            self.complain([each[:2] for each in frames])
            raise SystemExit(1)
        self.is_over = True
        raise SystemExit(self.end)

    def is_early(self, frames: list[tuple[FrameType, int, int]]) -> bool:
        """Return whether code under test ended the command, by the frames of the exit."""
        own = [at for at, each in enumerate(frames) if each[0].f_globals is self.names]
        if not own:
            return False
        tested = [each[0] for each in frames[own[-1] + 1 :] if self.is_tested(each[0].f_code)]
        if not tested:
            return False
        main = frames[own[0]][0].f_code
        if main.co_filename != "<string>" and not self.is_tested(main):
            return True  # the main module is a test runner
        if not self.strict and all(each.f_code.co_name != "<module>" for each in tested):
            return False
        source = self.source_of(main)
        return not all(comes_last(frames[at][0].f_code, *frames[at][1:], source) for at in own)

    def source_of(self, main: CodeType) -> str:
        """Return the source of the main module."""
        if main.co_filename == "<string>":
            return self.what
        import tokenize

        with tokenize.open(main.co_filename) as file:
            return file.read()

    def is_tested(self, code: CodeType) -> bool:
        """Return whether the code is the project's own."""
        path = os.path.abspath(code.co_filename)  # noqa: PTH100
        is_installed = "-packages" + os.sep in path or path.startswith(sys.prefix + os.sep)
        is_file = not code.co_filename.startswith("<")
        return is_file and path.startswith(self.folder) and not is_installed

    def complain(self, frames: list[tuple[FrameType, int]]) -> None:
        """Print where the code under test ended the command."""
        tested = [each for each in frames if self.is_tested(each[0].f_code)]
        frame, line = tested[-1]
        path = os.path.relpath(os.path.abspath(frame.f_code.co_filename), self.folder)  # noqa: PTH100
        called = [each[0].f_code.co_name for each in tested if each[0].f_globals is not self.names]
        said = AT_IMPORT if "<module>" in called else IN_CALL
        text = EARLY + said.format(f"{path}:{line}")
        os.write(self.stderr, f"\n{text}\n".encode("utf-8", "backslashreplace"))

    def guard(self) -> None:
        """Have `os._exit` say who calls it, where it would end this process with 0."""
        leave_at_once = os._exit

        def _exit(status: int) -> NoReturn:
            if os.getpid() == self.process and status in (0, self.end):
                status = 1 if status else self.status_of(sys._getframe().f_back)
            leave_at_once(status)

        os._exit = _exit

    def status_of(self, frame: FrameType | None) -> int:
        """Return the exit code of an `os._exit(0)` that is called in `frame`."""
        if self.is_over or (frame is not None and frame.f_globals is self.names):
            return self.end
        frames: list[tuple[FrameType, int]] = []
        while frame is not None:
            frames.insert(0, (frame, frame.f_lineno))
            frame = frame.f_back
        if any(self.is_tested(each[0].f_code) for each in frames):
            self.complain(frames)
        return 1


def read_script(path: str) -> bytes:
    """Return the content of a script; exit as the interpreter does if it cannot be read."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return file.read()
    except OSError as error:
        why = f"[Errno {error.errno}] {error.strerror}"
        text = f"{sys.executable}: can't open file {path!r}: {why}\n"
        os.write(2, text.encode("utf-8", "backslashreplace"))
        sys.exit(2)


def below(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback without its first frames, which are this file's own."""
    for _ in range(OWN_FRAMES):
        trace = trace and trace.tb_next
    return trace


def comes_last(code: CodeType, line: int, instruction: int, source: str) -> bool:
    """Return whether code was in a call after which it does nothing more."""
    import ast

    body = ast.parse(source).body
    if code.co_name != "<module>":
        functions = [
            each
            for each in ast.walk(ast.Module(body, []))
            if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))
            and each.name == code.co_name
            and each.lineno <= line <= (each.end_lineno or 0)
        ]
        if not functions:
            return False
        body = functions[-1].body
    end = end_of(code, instruction)
    for call in last_calls(body):
        if end is not None:
            if end == (call.end_lineno, call.end_col_offset):
                return True
        elif call.lineno <= line <= (call.end_lineno or 0):
            nested = (each for part in call.args for each in ast.walk(part))
            if not any(isinstance(each, ast.Call) for each in nested):
                return True
    return False


def end_of(code: Any, instruction: int) -> tuple[int, int] | None:
    """Return line and column where the expression of an instruction ends, if they are known."""
    if not hasattr(code, "co_positions"):
        return None
    for at, each in enumerate(code.co_positions()):
        if at == instruction // 2:
            return None if None in each else (each[1], each[3])
    return None


def last_calls(body: list[ast.stmt]) -> list[ast.Call]:
    """Return the calls after which a block does nothing more."""
    import ast

    last: Any = body[-1]
    if isinstance(last, (ast.If, ast.With, ast.AsyncWith, ast.Try)):
        blocks = [last.body, getattr(last, "orelse", [])]
        blocks += [each.body for each in getattr(last, "handlers", [])]
        return [call for each in blocks if each for call in last_calls(each)]
    if not isinstance(last, (ast.Expr, ast.Return, ast.Raise)):
        return []
    value = last.exc if isinstance(last, ast.Raise) else last.value
    value = value.value if isinstance(value, ast.Await) else value
    if not isinstance(value, ast.Call):
        return []
    name = getattr(value.func, "attr", getattr(value.func, "id", ""))
    inner = value.args[0] if value.args and name in ("exit", "SystemExit", "run") else None
    return [value, inner] if isinstance(inner, ast.Call) else [value]


def main() -> NoReturn:
    """Run what the arguments say: end, strictness, option, code or name, and its own arguments."""
    end, strict, option, what, *arguments = sys.argv[1:]
    if hasattr(sys, "orig_argv"):
        flags = sys.orig_argv[: -len(sys.argv) - 1]
        sys.orig_argv[:] = [*flags, *filter(None, [option]), what, *arguments]
    launch = Launch(int(end), strict == "strict", what)
    launch.guard()
    launch.run(option, arguments)
