"""Greets from the command line."""

import argparse

from hello.greeting import greet


def main():
    parser = argparse.ArgumentParser(prog="hello")
    parser.add_argument("name", nargs="?", default="")
    args = parser.parse_args()
    print(greet(args.name))


if __name__ == "__main__":
    main()
