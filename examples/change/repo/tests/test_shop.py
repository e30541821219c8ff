from shop import price


def test_the_tenth_thing_is_free():
    assert [price(each) for each in (0, 9, 10)] == [0, 27, 27]
