package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func called(given string, words ...string) (int, string, string) {
	var out, errors bytes.Buffer
	code := run(words, strings.NewReader(given), &out, &errors)
	return code, out.String(), errors.String()
}

func TestCommands(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte(desk), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, words := range map[string][]string{
		"A7 bob due 2024-01-16\nB10 bob due 2024-01-16\nB2 ada due 2024-01-15\n": {"out", path},
		"B2 ada 1 day\n":        {"late", path, "2024-01-16"},
		"total 0\n":             {"owed", path},
		"A7: ada\nB2: cy bob\n": {"waiting", path},
	} {
		if code, out, errors := called("", words...); code != 0 || out != want || errors != "" {
			t.Error(words, code, out, errors)
		}
		words[1] = "-"
		if code, out, _ := called(desk, words...); code != 0 || out != want {
			t.Error(words, code, out)
		}
	}
}

func TestErrors(t *testing.T) {
	code, out, errors := called("2024-01-01 sing\n\n2024-01-01 add b\n", "out", "-")
	lines := strings.Split(strings.TrimSpace(errors), "\n")
	if code != 1 || out != "" || len(lines) != 2 {
		t.Fatal(code, out, errors)
	}
	if !strings.HasPrefix(lines[0], "line 1: ") || !strings.HasPrefix(lines[1], "line 3: ") {
		t.Error(errors)
	}
	for _, words := range [][]string{
		{}, {"out"}, {"late", "-"}, {"late", "-", "today"}, {"sing", "-"}, {"out", "-", "-"}, {"out", t.TempDir()},
	} {
		code, out, errors := called("", words...)
		if code != 2 || out != "" || strings.Count(errors, "\n") != 1 {
			t.Error(words, code, out, errors)
		}
	}
}
