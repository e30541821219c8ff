"""Greets from the command line."""

import argparse

from hello.greeting import farewell, greet


def main():
    parser = argparse.ArgumentParser(prog="hello")
    parser.add_argument("name", nargs="?", default="")
    parser.add_argument("--bye", action="store_true")
    args = parser.parse_args()
    print(farewell(args.name) if args.bye else greet(args.name))


if __name__ == "__main__":
    main()
