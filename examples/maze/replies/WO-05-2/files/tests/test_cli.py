import pytest

from maze.__main__ import main

SMALL = ["--width", "4", "--height", "3", "--seed", "7"]


def test_the_maze_is_printed_without_a_way(capsys):
    assert main(SMALL) == 0
    out = capsys.readouterr().out
    assert len(out.splitlines()) == 7
    assert "•" not in out


def test_the_way_and_its_length_are_printed_when_asked(capsys):
    assert main([*SMALL, "--solve"]) == 0
    out = capsys.readouterr().out
    assert "•" in out
    assert out.endswith(" steps from entrance to exit.\n")


@pytest.mark.parametrize("size", [["--width", "1"], ["--height", "0"], ["--width", "-4"]])
def test_a_size_that_is_too_small_exits_with_2(size, capsys):
    with pytest.raises(SystemExit) as exit_info:
        main(size)
    assert exit_info.value.code == 2
    assert "a maze needs at least 2 by 2 cells" in capsys.readouterr().err
