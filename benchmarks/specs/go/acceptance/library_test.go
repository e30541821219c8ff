package main

import (
	"fmt"
	"strings"
	"testing"
)

const start = "# desk\n\n2024-01-01 add B1\n2024-01-01 add B2\n2024-01-01 add B3\n2024-01-01 add B4\n" +
	"2024-01-01 join ada\n2024-01-01 join bob\n2024-01-01 join cy\n"

func linesOf(faults []Fault) string {
	lines := []string{}
	for _, each := range faults {
		lines = append(lines, fmt.Sprint(each.Line))
	}
	return strings.Join(lines, " ")
}

func TestRefusals(t *testing.T) {
	cases := map[string]string{
		"2024-01-02 add B1":                                                                              "10",
		"2024-01-02 join ada":                                                                            "10",
		"2024-01-02 lend B9 ada\n2024-01-02 lend B1 dan":                                                 "10 11",
		"2023-12-31 lend B1 ada\n2024-01-01 lend B1 ada":                                                 "10",
		"2025-01-01 lend B9 ada\n2024-01-01 lend B1 ada":                                                 "10",
		"2024-01-02 lend B1 ada\n2024-01-02 lend B1 bob":                                                 "11",
		"2024-01-02 return B1\n2024-01-02 reserve B1 ada":                                                "10 11",
		"2024-01-02 lend B1 ada\n2024-01-02 reserve B1 ada":                                              "11",
		"2024-01-02 lend B1 ada\n2024-01-02 reserve B1 bob\n2024-01-02 reserve B1 bob":                   "12",
		"2024-01-02 lend B1 ada\n2024-01-02 lend B2 ada\n2024-01-02 lend B3 ada\n2024-01-02 lend B4 ada": "13",
		"2024-01-02 pay ada 1":                                                                           "10",
		"2024-01-02 sing":                                                                                "10",
	}
	for text, want := range cases {
		if _, faults := ReadLog(start + text + "\n"); linesOf(faults) != want {
			t.Errorf("%q: %v", text, faults)
		}
	}
}

func TestQueue(t *testing.T) {
	library, faults := ReadLog(start + "2024-01-02 lend B1 ada\n2024-01-03 reserve B1 bob\n" +
		"2024-01-03 reserve B1 cy\n2024-01-04 return B1\n2024-01-04 lend B1 cy\n2024-01-05 lend B1 bob\n")
	if linesOf(faults) != "14" {
		t.Error(faults)
	}
	if book := library.Books["B1"]; book.Holder != "bob" || fmt.Sprint(book.Queue) != "[cy]" {
		t.Error(book)
	}
}

func TestFees(t *testing.T) {
	for day, want := range map[string]int{"2024-01-15": 0, "2024-01-16": 20, "2024-01-29": 280, "2024-01-30": 300, "2024-03-01": 300} {
		library, faults := ReadLog(start + "2024-01-01 lend B1 ada\n" + day + " return B1\n")
		if len(faults) > 0 || library.Owed["ada"] != want {
			t.Errorf("%s: %v %v", day, library.Owed, faults)
		}
	}
	text := start + "2024-01-01 lend B1 ada\n2024-01-01 lend B2 ada\n2024-03-01 return B1\n2024-03-01 return B2\n"
	library, faults := ReadLog(text + "2024-03-01 lend B3 ada\n2024-03-01 pay ada 601\n2024-03-01 pay ada 101\n2024-03-01 lend B3 ada\n")
	if linesOf(faults) != "14 15" || library.Owed["ada"] != 499 || library.Books["B3"].Holder != "ada" {
		t.Error(library.Owed, faults)
	}
	if _, faults := ReadLog(text + "2024-03-01 pay ada 100\n2024-03-01 lend B3 ada\n"); linesOf(faults) != "15" {
		t.Error(faults)
	}
}
