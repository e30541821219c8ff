package main

import "testing"

func TestParseEntry(t *testing.T) {
	day, err := ParseDate("2024-02-29")
	if err != nil {
		t.Fatal(err)
	}
	good := map[string]Entry{
		"2024-02-29 add B12":           {3, day, "add", "B12", "", 0},
		" 2024-02-29  join  ada ":      {3, day, "join", "", "ada", 0},
		"2024-02-29 lend Z1 bob":       {3, day, "lend", "Z1", "bob", 0},
		"2024-02-29 return B9999":      {3, day, "return", "B9999", "", 0},
		"2024-02-29 reserve B1 ada":    {3, day, "reserve", "B1", "ada", 0},
		"2024-02-29 pay ada 100000":    {3, day, "pay", "", "ada", 100000},
		"2024-02-29 join abcdefghijkl": {3, day, "join", "", "abcdefghijkl", 0},
	}
	for line, want := range good {
		if got, err := ParseEntry(3, line); err != nil || got != want {
			t.Errorf("%q: %v, %v", line, got, err)
		}
	}
	for _, line := range []string{
		"2023-02-29 add B12", "2024-2-29 add B12", "24-02-29 add B12", "2024-02-29", "add B12",
		"2024-02-29 add b12", "2024-02-29 add B", "2024-02-29 add B12345", "2024-02-29 add B1 B2",
		"2024-02-29 join Ada", "2024-02-29 join abcdefghijklm", "2024-02-29 steal B1 ada",
		"2024-02-29 pay ada 0", "2024-02-29 pay ada 100001", "2024-02-29 pay ada -5",
		"2024-02-29 pay ada 1.5", "2024-02-29 lend B1", "2024-02-29 pay ada +5",
	} {
		if got, err := ParseEntry(3, line); err == nil {
			t.Errorf("%q: %v", line, got)
		}
	}
}

func TestFault(t *testing.T) {
	if got := (Fault{7, "bad"}).String(); got != "line 7: bad" {
		t.Error(got)
	}
}
