import pytest

from hello.__main__ import main
from hello.greeting import greet


def test_a_name_is_greeted():
    assert greet("Ada") == "Hello, Ada!"


@pytest.mark.parametrize("blank", ["", "   "])
def test_a_blank_name_stands_for_the_world(blank):
    assert greet(blank) == "Hello, world!"


def test_spaces_around_a_name_are_dropped():
    assert greet("  Ada ") == "Hello, Ada!"


def test_the_command_prints_the_greeting(capsys):
    assert main(["Ada"]) == 0
    assert capsys.readouterr().out == "Hello, Ada!\n"
