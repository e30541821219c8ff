"""Says which variables are secret, and keeps records free of them."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TypeAlias
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

# The URL of the fleet's database has a password in it.
# "KEY" and "PAT" (a personal access token) count only as whole words: they are also parts of
# innocent words such as KEYBOARD and PATH.
_WORDS = frozenset({"KEY", "PAT"})
# The settings that say which variable holds a key.
_NAMES_A_KEY = re.compile(r"LLMCH_[A-Z]+_KEY_VARIABLE")
_PARTS = re.compile(r"API_?KEY|TOKEN|SECRET|PASSW|CREDENTIAL|PRIVATE_?KEY|FLEET_DB")


@lru_cache(maxsize=1024)
def names_a_secret(name: str) -> bool:
    """Return whether the value of a variable called `name` is to be treated as a secret."""
    name = name.upper()
    if _NAMES_A_KEY.fullmatch(name):
        return False
    return bool(_PARTS.search(name)) or not _WORDS.isdisjoint(name.split("_"))


MODEL_VARIABLES = ("OPENAI_", "ANTHROPIC_", "GEMINI_", "GOOGLE_GEMINI_", "GOOGLE_API_KEY")
"""What the variables of the known vendors begin with."""


def is_model_variable(name: str) -> bool:
    """Return whether a variable is one of a model server.

    The key of any server may be in a variable with `API_KEY` in its name.
    """
    return name.upper().startswith(MODEL_VARIABLES) or "API_KEY" in name.upper()


def for_others(environ: Mapping[str, str], withheld: tuple[str, ...]) -> dict[str, str]:
    """Return what a program of the person's gets of an environment: no key of a model server.

    Nor does it get variables that begin as one of `withheld` does.
    """
    return {
        name: value
        for name, value in environ.items()
        if not name.startswith(withheld) and not is_model_variable(name)
    }


# Templates of such files (`.env.example`) are meant to be read.
_SECRET_FILE = re.compile(
    r"(?:.*/)?(?:\.env(?:rc|\.(?!example$|sample$|template$|dist$).*)?|[._]netrc|\.npmrc|\.pypirc"
    r"|\.pgpass|\.htpasswd|\.git-credentials|\.dockercfg|\.docker/config\.json|kubeconfig"
    r"|id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|service[-_]account[^/]*\.json"
    r"|(?:credentials?|secrets?)(?:\.(?:json|ya?ml|toml|ini|env|txt|properties|xml))?"
    r"|[^/]*\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|gpg|tfvars|tfstate)(?:\.(?:json|backup))?)"
)
_SECRET_FOLDERS = frozenset({".ssh", ".aws", ".gnupg", ".kube", ".azure"})
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")


def names_a_secret_file(path: str) -> bool:
    """Return whether the file at a relative path is one that usually holds secrets."""
    path = path.casefold()
    folders = path.split("/")[:-1]
    return not _SECRET_FOLDERS.isdisjoint(folders) or bool(_SECRET_FILE.fullmatch(path))


def holds_private_key(text: str) -> bool:
    return bool(_PRIVATE_KEY.search(text))


REDACTED = "[redacted]"

# Shorter values ("yes", "1234") would be found inside innocent words, and code is full of words
# such as the `postgres` and `password` of a service in CI. What a record hides, a reply loses too.
_SHORTEST_SECRET = 8
_PLAIN_WORD = re.compile(r"[a-z]{1,15}|[A-Z][a-z]{1,14}|[A-Z]{1,15}|[a-z]{1,8}_[a-z]{1,8}")


def _is_secret(value: str) -> bool:
    return len(value) >= _SHORTEST_SECRET and not _PLAIN_WORD.fullmatch(value)


# Variables with these ends hold URLs, which may have a password or a key in them.
_URL_ENDS = ("_URL", "_PROXY", "_url", "_proxy")
_SECRET_PARAMETERS = frozenset({"auth", "code", "pass", "pwd", "sig", "signature"})


def secret_values(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the secrets in the values of an environment's variables, longest first.

    They are the values of variables whose names say that they are secret, and the secrets in URLs;
    plain words of up to 15 letters are none, unless they are the key of a model.
    """
    # Every record calls this function, so names are read once, and of values only the needed ones.
    names = tuple(environ)
    found = {environ[name] for name in names if names_a_secret(name)}
    for name in names:
        if name.endswith(_URL_ENDS):
            found.update(url_secrets(environ[name]))
    keys = {environ[name] for name in names if names_a_secret(name) and is_model_variable(name)}
    values = {each for each in keys if len(each) >= _SHORTEST_SECRET}
    values.update(filter(_is_secret, found))
    return tuple(sorted(values, key=lambda value: (-len(value), value)))


@lru_cache(maxsize=64)
def url_secrets(url: str) -> frozenset[str]:
    """Return the password and the keys in a URL, in each form in which a server may quote them.

    A name without a password is a token. Values as short as those of other words are left out.
    """
    try:
        parts = urlsplit(url)
        user, password = parts.username or "", parts.password or ""
        found = {password or user, *_secret_parameters(parts.query)}
    except ValueError:
        return frozenset()
    plain = {unquote(each) for each in found}
    found |= plain | {quote(each, "") for each in plain} | {quote_plus(each) for each in plain}
    if user or password:
        sent = f"{unquote(user)}:{unquote(password)}".encode("utf-8", "replace")
        found.add(b64encode(sent).decode("ascii"))
    return frozenset(each for each in found if len(each) >= _SHORTEST_SECRET)


def _secret_parameters(query: str) -> Iterator[str]:
    for name, value in parse_qsl(query):
        if name.lower() in _SECRET_PARAMETERS or names_a_secret(name.replace("-", "_")):
            yield value


Mask: TypeAlias = Callable[[str], str]
"""Takes secrets out of a text."""


def masking(environ: Mapping[str, str]) -> Mask:
    """Return what masks the secrets of an environment in a text."""
    secrets = secret_values(environ)
    return lambda text: redact(text, secrets)


def redact(text: str, secrets: Iterable[str]) -> str:
    """Return `text` with each of `secrets` replaced by `[redacted]`."""
    for secret in secrets:
        text = text.replace(secret, REDACTED)
    return text
