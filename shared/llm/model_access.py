"""Finds the provider of a model, its server and its key.

Access is checked before anything else, so this module imports nothing that is slow to load.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from shared.errors import InvalidInput, ModelUnavailable
from shared.files.secret_values import secret_values
from shared.llm.model_client import Provider
from shared.llm.server_replies import ServerNames

# The SDK demands a key even where the server needs none.
PLACEHOLDER_KEY = "local"


@dataclass(frozen=True, slots=True)
class Vendor:
    """Hold how a vendor's models are reached, and how its keys and its models are called.

    Of several variables for the key, the first that is set counts. `version` is what paths of its
    wire begin with, and `chat_path` is where it speaks Chat Completions too. `example` is a model.
    """

    name: str
    url: str
    host: str
    keys: tuple[str, ...]
    address: str
    key_begins: tuple[str, ...]
    models: re.Pattern[str]
    example: str
    version: str = "/v1"
    chat_path: str = "/v1/chat/completions"


VENDORS: Final[Mapping[Provider, Vendor]] = {
    Provider.OPENAI: Vendor(
        "OpenAI",
        "https://api.openai.com/v1",
        "api.openai.com",
        ("OPENAI_API_KEY",),
        "OPENAI_BASE_URL",
        ("sk-proj-", "sk-svcacct-", "sk-admin-"),
        re.compile(r"(?:ft:)?(?:gpt-|chatgpt-|codex-|o\d)"),
        "gpt-5.2",
    ),
    Provider.ANTHROPIC: Vendor(
        "Anthropic",
        "https://api.anthropic.com",
        "anthropic.com",
        ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        "ANTHROPIC_BASE_URL",
        ("sk-ant-",),
        re.compile(r"claude-"),
        "claude-opus-5-5",
    ),
    Provider.GEMINI: Vendor(
        "Google",
        "https://generativelanguage.googleapis.com",
        "generativelanguage.googleapis.com",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        "GOOGLE_GEMINI_BASE_URL",
        ("AIza",),
        re.compile(r"(?:models/)?gemini-"),
        "gemini-3.1-pro-preview",
        "/v1beta",
        "/v1beta/openai/chat/completions",
    ),
}
# A token is sent as gateways want it, and not as a key.
_TOKENS = frozenset({"ANTHROPIC_AUTH_TOKEN"})


@dataclass(frozen=True, slots=True)
class ModelAccess:
    """Hold a server and the key to it; `base_url` is `None` for the provider's own server.

    `stall_seconds` is how long a server may stay silent during a call: local models read a long
    prompt for minutes before they answer. `deadline_seconds` bounds a whole call, including the
    waits between retries. `key_name` is the variable of the key, and `why` says in words why this
    provider was chosen.
    """

    base_url: str | None
    api_key: str = field(repr=False)
    stall_seconds: float = 600.0
    deadline_seconds: float = 2400.0
    provider: Provider = Provider.OPENAI
    key_name: str = "OPENAI_API_KEY"
    why: str = field(default="", compare=False)

    @property
    def vendor(self) -> Vendor:
        return VENDORS[self.provider]

    @property
    def url(self) -> str:
        return self.base_url or self.vendor.url

    @property
    def host(self) -> str:
        return _host_of(self.url)

    @property
    def is_openai(self) -> bool:
        """Return whether this is OpenAI's own server, which is known to enforce reply schemas."""
        return self.provider is Provider.OPENAI and _is_host_of(self.vendor, self.host)

    @property
    def is_local(self) -> bool:
        return is_loopback(self.host)

    @property
    def display_url(self) -> str:
        """Return the base URL without credentials, query and fragment, fit to be shown."""
        parts = urlsplit(self.url)
        return parts._replace(
            netloc=parts.netloc.rpartition("@")[2], query="", fragment=""
        ).geturl()

    @property
    def plain_url(self) -> str:
        """Return the base URL as requests are sent to it: its query goes with each of them."""
        return urlsplit(self.url)._replace(query="", fragment="").geturl()

    @property
    def query(self) -> dict[str, str]:
        """Return what the base URL asks to have in each request, such as `api-version`."""
        return dict(parse_qsl(urlsplit(self.url).query))

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers in which the key is sent, as the provider's wire has them."""
        if self.provider is Provider.ANTHROPIC:
            sent = {"anthropic-version": "2023-06-01"}
            return sent | (self.bearer if self.key_name in _TOKENS else {"x-api-key": self.api_key})
        return self.bearer if self.provider is Provider.OPENAI else {"x-goog-api-key": self.api_key}

    @property
    def bearer(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.api_key}"}

    @property
    def names(self) -> ServerNames:
        """Return what an error says of the server."""
        return ServerNames(self.display_url, self.key_name, self.vendor.address, self.why)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return the key, and what is secret in the base URL; servers quote both."""
        return secret_values({self.key_name: self.api_key, self.vendor.address: self.url})


def native_url(access: ModelAccess, path: str) -> str:
    """Return the URL of a path of the provider's own wire, which begins after the version.

    A base URL may end in the version, or in Google's `/publishers/google`, which follows it.
    """
    base = access.plain_url.rstrip("/")
    has_version = re.search(r"/v\d\w*$|/publishers/\w+$", base)
    return f"{base}{'' if has_version else access.vendor.version}{path}"


# What base URLs end in, and paths of wires begin with.
_VERSION = re.compile(r"(/v1(beta)?)?(/openai)?/*$")


def relayed_url(access: ModelAccess, path: str) -> str:
    """Return the URL of a path as agents ask for it, which begins with the version of its wire.

    A wire of the provider's own is where llmch's own calls find it, such as a deployment of Azure.
    """
    below = path.removeprefix(access.vendor.version)
    if access.provider is Provider.OPENAI and below in ("/chat/completions", "/responses"):
        return access.plain_url.rstrip("/") + below
    if access.provider is not Provider.OPENAI and below.startswith(("/messages", "/models/")):
        return native_url(access, below)
    return _VERSION.sub("", access.plain_url) + path


def choose_provider(
    environ: Mapping[str, str], base_url: str | None, model: str, provider: Provider
) -> tuple[Provider, str]:
    """Return the provider of a model, and in words why it is this one.

    Without a setting, a server that was chosen decides, then the model's name, then the keys.
    """
    if provider is not Provider.AUTO:
        return provider, "the settings name it"
    if base_url:
        return _of_server(base_url)
    named = next((each for each, v in VENDORS.items() if v.models.match(model)), None)
    has_gateway = _has_gateway(environ)
    if named not in (None, Provider.OPENAI) and not (
        has_gateway and not environ.get(VENDORS[named].address, "").strip()
    ):
        return named, f"the model's name is one of {VENDORS[named].name}'s"
    if has_gateway:
        return Provider.OPENAI, "OPENAI_BASE_URL names a server for all models"
    if named is Provider.OPENAI:
        return named, "the model's name is one of OpenAI's"
    others = [each for each in VENDORS if _is_set(environ, each)]
    if len(others) == 1:
        return others[0], f"only {VENDORS[others[0]].name}'s variables are set"
    return Provider.OPENAI, "nothing names another one"


def model_of_only_key(environ: Mapping[str, str]) -> str:
    """Return a model to name where the one vendor whose key is set is not OpenAI; "" elsewhere."""
    others = [each for each in VENDORS if _is_set(environ, each)]
    is_other = len(others) == 1 and others[0] is not Provider.OPENAI
    return VENDORS[others[0]].example if is_other else ""


def _has_gateway(environ: Mapping[str, str]) -> bool:
    """Return whether the variable of OpenAI's wires names another server than OpenAI's own."""
    url = environ.get("OPENAI_BASE_URL", "").strip()
    try:
        return bool(url) and not _is_host_of(VENDORS[Provider.OPENAI], urlsplit(url).hostname or "")
    except ValueError:
        return True


def _of_server(url: str) -> tuple[Provider, str]:
    try:
        parts = urlsplit(url)
        host, path = parts.hostname or "", parts.path
    except ValueError:
        host = path = ""
    for provider, vendor in VENDORS.items():
        if _is_host_of(vendor, host) and not path.rstrip("/").endswith("/openai"):
            return provider, f"the server is {vendor.name}'s"
    return Provider.OPENAI, "most servers speak OpenAI's wires"


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _is_host_of(vendor: Vendor, host: str) -> bool:
    return host == vendor.host or host.endswith("." + vendor.host)


def _is_set(environ: Mapping[str, str], provider: Provider) -> bool:
    vendor = VENDORS[provider]
    return any(environ.get(name, "").strip() for name in (*vendor.keys, vendor.address))


def check_access(
    environ: Mapping[str, str],
    base_url: str | None = None,
    model: str = "",
    provider: Provider = Provider.AUTO,
    key_variable: str | None = None,
) -> ModelAccess:
    """Return the access that the environment gives to a model; `base_url` wins over the variable.

    `key_variable` names the variable of the key, in place of the vendor's own.
    Raises `ModelUnavailable` if a key is missing, and `InvalidInput` if the URL or the key
    is malformed, the key is another vendor's, or it would leave its vendor without anybody having
    said so. Needs no network.
    """
    chosen, why = choose_provider(environ, base_url, model, provider)
    vendor = VENDORS[chosen]
    url = base_url or environ.get(vendor.address, "").strip() or None
    if key_variable and not base_url and provider is Provider.AUTO:
        raise InvalidInput(
            f"key_variable names {key_variable}, and nothing says whose key that is",
            hint="set base_url or provider beside it, for the same role",
        )
    names = (key_variable,) if key_variable else vendor.keys
    keys = {name: environ.get(name, "").strip() for name in names}
    name = next((each for each in names if keys[each]), names[0])
    access = ModelAccess(url, keys[name], provider=chosen, key_name=name, why=why)
    if url is not None:
        _check_url(access)
    if not _is_plain(access.api_key):
        raise InvalidInput(
            f"{name} holds characters that no key has: "
            "blanks, control characters or characters outside ASCII",
            hint="copy the key again",
        )
    _check_vendor_of_key(access)
    if base_url and not key_variable:
        _check_stays_at_vendor(access, environ)
    if access.api_key:
        return access
    if access.is_local:
        return replace(access, api_key=PLACEHOLDER_KEY)
    raise _no_key(access, environ, model)


# What the keys of servers begin with that speak OpenAI's wires.
_OTHER_KEYS: Final = {"sk-or-": "OpenRouter", "gsk_": "Groq", "xai-": "xAI"}


def _check_vendor_of_key(access: ModelAccess) -> None:
    """Refuse to send a vendor the key of another one, which that vendor had better not see."""
    if not _is_host_of(access.vendor, access.host):
        return
    for begins, name in _OTHER_KEYS.items():
        if access.api_key.startswith(begins):
            raise InvalidInput(
                f"{access.key_name} holds a key of {name}'s, but the provider is "
                f"{access.vendor.name}: {access.why}",
                hint=f"name {name}'s server in {access.vendor.address}, or in base_url of a role",
            )
    for provider, vendor in VENDORS.items():
        if provider is not access.provider and access.api_key.startswith(vendor.key_begins):
            raise InvalidInput(
                f"{access.key_name} holds a key of {vendor.name}'s, but the provider is "
                f"{access.vendor.name}: {access.why}",
                hint=f"put it into {vendor.keys[0]}, and name a model of {vendor.name}'s; "
                f"or put {access.vendor.name}'s key into {access.key_name}",
            )


def _check_stays_at_vendor(access: ModelAccess, environ: Mapping[str, str]) -> None:
    """Refuse to send a vendor's key to another's server, which a role's setting names.

    A server in the vendor's own variable, beside its key, is a gateway that is meant to get it.
    """
    if access.is_local:
        return
    for vendor in VENDORS.values():
        gateway = _host_of(environ.get(vendor.address, "").strip())
        domain = ".".join(vendor.host.split(".")[-2:])
        if access.host in (gateway, domain) or access.host.endswith(f".{domain}"):
            continue
        if access.api_key.startswith(vendor.key_begins):
            raise InvalidInput(
                f"{access.key_name} holds a key of {vendor.name}'s, but the setting base_url "
                f"names a server at {access.host}",
                hint="put that server's key (any word, if it wants none) into a variable of its "
                "own, and the variable's name into key_variable, beside base_url; if the server is "
                f"meant to get this key, set key_variable to {access.key_name}",
            )


def _no_key(access: ModelAccess, environ: Mapping[str, str], model: str) -> ModelUnavailable:
    vendor = access.vendor
    asked = f" for {model}" if model else ""
    chosen = f" (the provider{asked} is {vendor.name}: {access.why})" if access.why else ""
    others = (
        f"{VENDORS[each].keys[0]} is set: name a model of {VENDORS[each].name}'s, by "
        f"--model {VENDORS[each].example} or LLMCH_MODEL; or "
        for each in VENDORS
        if each is not access.provider and any(environ.get(k) for k in VENDORS[each].keys)
    )
    version = "/v1" if access.provider is Provider.OPENAI else ""
    return ModelUnavailable(
        f"no key for the model server at {access.host}: {access.key_name} is not set{chosen}",
        hint=f"{''.join(others)}set {access.key_name}, or point {vendor.address} at a local server "
        f"(http://127.0.0.1:PORT{version} needs no key), or replay a transcript with --llm replay",
    )


def is_openai(
    environ: Mapping[str, str],
    base_url: str | None = None,
    model: str = "",
    provider: Provider = Provider.AUTO,
) -> bool:
    """Return whether requests go to OpenAI's own server, which enforces reply schemas."""
    chosen, _ = choose_provider(environ, base_url, model, provider)
    url = base_url or environ.get(VENDORS[chosen].address, "").strip() or None
    return ModelAccess(base_url=url, api_key="", provider=chosen).is_openai


def is_loopback(host: str) -> bool:
    """Return whether `host` names this machine."""
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " not in text


def _check_url(access: ModelAccess) -> None:
    assert access.base_url is not None
    try:
        parts = urlsplit(access.base_url)
        (parts.hostname or "").encode("idna")
        _ = parts.port
        well_formed = (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and _is_plain(access.base_url)
        )
    except ValueError:
        well_formed = False
    if not well_formed:
        raise InvalidInput(
            "the base URL of the model server is not an http or https URL",
            hint=f"set {access.vendor.address} to something like http://127.0.0.1:8080/v1",
        )


SMALL_BELOW: Final = 3.0
"""In billions: below, a retry mends almost nothing, and a long prompt does more harm than good."""

# `qwen2.5-coder-1.5b-instruct`, `llama3.1:70B`, `mixtral-8x7b`, but not the `4b` of `q4b` or `v2b`.
_PARAMETERS = re.compile(
    r"(?<![a-z0-9.])(?:(?P<experts>\d+)x)?(?P<number>\d+(?:\.\d+)?)(?P<unit>[bm])(?![a-z0-9])",
    re.IGNORECASE,
)


def parameters_of(model: str) -> float | None:
    """Return the number of a model's parameters in billions, if its name tells it."""
    found = _PARAMETERS.search(model)
    if found is None:
        return None
    number = float(found["number"]) * int(found["experts"] or 1)
    return number if found["unit"] in "bB" else number / 1000


def is_small(model: str) -> bool:
    """Return whether a model's name says that it is a small one."""
    size = parameters_of(model)
    return size is not None and size < SMALL_BELOW
