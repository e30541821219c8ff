"""Lists the modules that Node brings along, and the names that a program finds without imports."""

from __future__ import annotations

from typing import Final

_MODULES: Final = """
    assert async_hooks buffer child_process cluster console constants crypto dgram
    diagnostics_channel dns domain events fs http http2 https inspector module net os path
    perf_hooks process punycode querystring readline repl stream string_decoder sys timers tls
    trace_events tty url util v8 vm wasi worker_threads zlib
"""
_BUILTIN: Final = frozenset(_MODULES.split())
_PREFIXES: Final = ("node:", "bun:", "deno:", "cloudflare:", "astro:", "virtual:", "data:")


def is_builtin(specifier: str) -> bool:
    """Return whether a runtime has the module by itself, or a bundler makes it."""
    if specifier.startswith(_PREFIXES) or specifier == "bun" or "://" in specifier:
        return True
    return specifier.split("/", 1)[0] in _BUILTIN
