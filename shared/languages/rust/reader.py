"""Reads commands of `cargo` for planner and factory. Each method imports what it needs."""

from __future__ import annotations

from collections.abc import Iterator

from shared.languages.capabilities.commands import Arguments, Command, ProgramRun, Run, Weakness


class RustCommands:
    """Implement `CommandReader` for `cargo`."""

    def knows(self, program: str) -> bool:
        """Return whether the program is one of Rust's."""
        return program in ("cargo", "rustc", "rustfmt")

    def is_always_there(self, program: str) -> bool:
        """Return that no sandbox is sure to have Rust."""
        return False

    def read_run(self, program: str, arguments: Arguments) -> Run:
        """Return the arguments: what they mean is read when it is asked for."""
        return ProgramRun(arguments.words)

    def needed_paths(self, command: Command) -> tuple[str, ...]:
        """Return the manifest that the command names."""
        from shared.languages.rust.commands import read_cargo_command

        if command.program != "cargo" or not isinstance(command.run, ProgramRun):
            return ()
        return read_cargo_command(command.run.arguments).paths

    def script_paths(self, path: str) -> tuple[str, ...]:
        """Return the path itself."""
        return (path,)

    def read_paths(self, command: Command) -> Iterator[str]:
        """Yield nothing: a command of `cargo` holds no code."""
        return iter(())

    def makes_files(self, command: Command) -> bool:
        """Return whether the command builds or runs something."""
        from shared.languages.rust.commands import makes_files

        return command.program != "rustfmt" and makes_files(command.argv)

    def module_paths(self, module: str) -> Iterator[str]:
        """Yield nothing: no command names a module to run."""
        return iter(())

    def is_loaded_unasked(self, path: str) -> bool:
        """Return whether tests commonly share the file as a module: `tests/common/mod.rs`."""
        return path.endswith("/mod.rs") and "tests" in path.split("/")

    def weakness(self, command: Command) -> Weakness | None:
        """Return why a command can hardly fail, as far as its text shows."""
        from shared.languages.rust.weakness import weakness_of_text

        if not isinstance(command.run, ProgramRun) or command.problem or command.operator:
            return None
        return weakness_of_text(command.program, command.run.arguments)
