"""Holds what planner and factory share, and has each module run when it is first used.

`from package import module` at the top of a file finds the module. It runs with the first
`module.name`, in whichever thread that is. `from package.module import name` looks a name up, so
that the module runs at once. A package's own `__init__.py` always runs at once.

ADR 29 has the reasons. `--help` waits for this file, so that it imports only what Python has
loaded by itself.
"""

import sys
from _frozen_importlib import ModuleSpec
from _thread import RLock

TYPE_CHECKING = False  # `typing` takes longer to import than all of `--help`
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.abc import Loader
    from types import ModuleType
else:
    ModuleType = type(sys)

VERSION = "0.1.0"

_FLOORS = ("llmch.", "planner.", "factory.", "shared.")
# Python's own import system looks at these of a module that it has found.
_FOUND = frozenset({"__class__", "__spec__", "__name__", "__loader__", "__package__", "__file__"})


class _Waiting:
    """Hold the lock of a module that has not run, and whether it is running now."""

    __slots__ = ("is_running", "lock")

    def __init__(self) -> None:
        self.lock = RLock()
        self.is_running = False


class LateModule(ModuleType):
    """Represent a module that has not run. Once it has, its class is that of any module."""

    def __getattribute__(self, name: str) -> object:
        """Run the module where it has not run, and return the attribute.

        A thread that comes while another runs the module waits for it. No two threads wait for
        each other, since no two files import each other. Raises what the module raises, and runs it
        again at the next look.
        """
        read = object.__getattribute__
        if name in _FOUND:
            return read(self, name)
        spec: ModuleSpec = read(self, "__spec__")
        waiting: _Waiting = spec.loader_state
        with waiting.lock:
            # The module's own code may look at its attributes.
            if read(self, "__class__") is LateModule and not waiting.is_running:
                waiting.is_running = True
                try:
                    assert spec.loader is not None, "only a spec with a loader is made late"
                    spec.loader.exec_module(self)
                    object.__setattr__(self, "__class__", ModuleType)
                finally:
                    waiting.is_running = False
        return ModuleType.__getattribute__(self, name)


class _LateLoader:
    """Make a module late instead of running it."""

    def __init__(self, loader: "Loader") -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Return what the loader of the file makes: mostly nothing, for an ordinary module."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Leave the code of the module to the first look at it."""
        spec = module.__spec__
        assert spec is not None, "the import system gives each module its spec"
        spec.loader = module.__loader__ = self._loader
        spec.loader_state = _Waiting()
        module.__class__ = LateModule


class LateFinder:
    """Find the modules of this program as the other finders do, and make them late."""

    def find_spec(
        self, name: str, path: "Sequence[str] | None" = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a late module; `None` for what is not of this program."""
        if not name.startswith(_FLOORS) or name.endswith(".__main__"):
            return None
        others = (each for each in sys.meta_path if each is not self)
        found = (each.find_spec(name, path, target) for each in others)
        spec = next((each for each in found if each is not None), None)
        if spec is not None and spec.loader is not None and not spec.submodule_search_locations:
            spec.loader = _LateLoader(spec.loader)  # type: ignore[assignment]  # a loader by shape
        return spec


def make_imports_late() -> bool:
    """Have every import from now on find modules late, and return that it is so."""
    if not any(isinstance(each, LateFinder) for each in sys.meta_path):
        sys.meta_path.insert(0, LateFinder())
    return True


LATE = make_imports_late()
