from hello.greeting import greet


def test_a_person_is_greeted_by_name():
    assert greet("Ada") == "Hello, Ada!"
    assert greet("  Ada ") == "Hello, Ada!"


def test_without_a_name_the_world_is_greeted():
    assert greet() == "Hello, world!"
    assert greet("   ") == "Hello, world!"
