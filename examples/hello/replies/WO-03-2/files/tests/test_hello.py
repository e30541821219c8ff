import pytest

from hello.__main__ import main
from hello.greeting import farewell, greet


def test_a_name_is_greeted():
    assert greet("Ada") == "Hello, Ada!"


def test_a_name_is_told_goodbye():
    assert farewell("Ada") == "Goodbye, Ada!"


@pytest.mark.parametrize("blank", ["", "   "])
def test_a_blank_name_stands_for_the_world(blank):
    assert greet(blank) == "Hello, world!"
    assert farewell(blank) == "Goodbye, world!"


def test_spaces_around_a_name_are_dropped():
    assert greet("  Ada ") == "Hello, Ada!"
    assert farewell("  Ada ") == "Goodbye, Ada!"


def test_the_command_prints_the_greeting(capsys):
    assert main(["Ada"]) == 0
    assert capsys.readouterr().out == "Hello, Ada!\n"


def test_the_command_says_goodbye_when_asked(capsys):
    assert main(["--bye", "Ada"]) == 0
    assert capsys.readouterr().out == "Goodbye, Ada!\n"
