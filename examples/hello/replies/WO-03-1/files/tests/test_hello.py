from hello.__main__ import main
from hello.greeting import farewell, greet


def test_a_name_is_greeted():
    assert greet("Ada") == "Hello, Ada!"


def test_a_name_is_told_goodbye():
    assert farewell("Ada") == "Goodbye, Ada!"


def test_the_command_says_goodbye_when_asked(capsys):
    assert main(["--bye", "Ada"]) == 0
    assert capsys.readouterr().out == "Goodbye, Ada!\n"
