"""What a secret's name looks like is the same for records, the sandbox and the configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from factory.sandbox import private_folder
from shared.errors import InvalidInput
from shared.files.secret_values import names_a_secret, secret_values
from shared.settings.loading import load_settings

SECRET = [
    *("OPENAI_API_KEY", "MY_APIKEY", "GITHUB_TOKEN", "npmToken", "AWS_SECRET_ACCESS_KEY"),
    *("DB_PASSWORD", "PGPASSWD", "GH_PAT", "MY_CREDENTIALS", "SSH_PRIVATEKEY", "SIGNING_KEY"),
]
PLAIN = ["PATH", "KEYBOARD", "LANG", "CUDA_HOME", "PATIENCE", "MONKEY", "COMPASS"]


def is_redacted(name: str) -> bool:
    return secret_values({name: "long enough"}) == ("long enough",)


def is_refused_by_the_sandbox(name: str) -> bool:
    here = Path("/")
    try:
        private_folder.build(workspace=here, temporary=here, path="", site=here, extra={name: "x"})
    except InvalidInput:
        return True
    return False


def is_refused_as_a_setting(name: str) -> bool:
    try:
        load_settings(cwd=Path("/"), environ={"LLMCH_SANDBOX_ENV": name})
    except InvalidInput:
        return True
    return False


@pytest.mark.parametrize(
    ("name", "secret"), [(n, True) for n in SECRET] + [(n, False) for n in PLAIN]
)
def test_every_place_agrees_on_what_is_a_secret(name: str, secret: bool) -> None:
    assert names_a_secret(name) is secret
    assert is_redacted(name) is secret
    assert is_refused_by_the_sandbox(name) is secret
    assert is_refused_as_a_setting(name) is secret


def test_the_setting_that_names_a_key_s_variable_is_no_key() -> None:
    """Errors name the variable, and would say `[redacted]`."""
    assert not is_redacted("LLMCH_FACTORY_KEY_VARIABLE")
    assert is_redacted("MY_KEY_VARIABLE")


@pytest.mark.parametrize("value", ["password", "postgres", "Changeme", "POSTGRES", "my_password"])
def test_a_plain_word_is_no_secret_because_code_is_full_of_it(value: str) -> None:
    assert secret_values({"DB_PASSWORD": value}) == ()
    assert value not in secret_values({"X_URL": f"postgresql://u:{value}@db"})


@pytest.mark.parametrize(
    "value", ["passw0rd", "correcthorsebattery", "sk-abcdefgh", "PassWord", "hunter-two-three"]
)
def test_any_other_value_is_one(value: str) -> None:
    assert secret_values({"DB_PASSWORD": value}) == (value,)


def test_the_key_of_a_model_is_one_in_any_case() -> None:
    assert secret_values({"OPENAI_API_KEY": "opensesame"}) == ("opensesame",)
