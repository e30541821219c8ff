package main

import (
	"fmt"
	"io"
	"os"
)

const usage = "usage: lendbook out|owed|waiting FILE, or lendbook late FILE DATE"

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(words []string, in io.Reader, out, errors io.Writer) int {
	report, path, err := choose(words)
	if err != nil {
		fmt.Fprintln(errors, err)
		return 2
	}
	text, err := read(path, in)
	if err != nil {
		fmt.Fprintf(errors, "cannot read %s\n", path)
		return 2
	}
	library, faults := ReadLog(string(text))
	for _, fault := range faults {
		fmt.Fprintln(errors, fault)
	}
	if len(faults) > 0 {
		return 1
	}
	for _, line := range report(library) {
		fmt.Fprintln(out, line)
	}
	return 0
}

func choose(words []string) (func(*Library) []string, string, error) {
	reports := map[string]func(*Library) []string{"out": Out, "owed": Owed, "waiting": Waiting}
	if len(words) == 3 && words[0] == "late" {
		day, err := ParseDate(words[2])
		return func(l *Library) []string { return Late(l, day) }, words[1], err
	}
	if len(words) == 2 && reports[words[0]] != nil {
		return reports[words[0]], words[1], nil
	}
	return nil, "", fmt.Errorf("%s", usage)
}

func read(path string, in io.Reader) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(path)
}
