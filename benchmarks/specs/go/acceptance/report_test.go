package main

import (
	"strings"
	"testing"
)

const desk = "2024-01-01 add B10\n2024-01-01 add B2\n2024-01-01 add A7\n2024-01-01 join ada\n2024-01-01 join bob\n" +
	"2024-01-01 join cy\n2024-01-01 lend B2 ada\n2024-01-02 lend B10 bob\n2024-01-02 lend A7 bob\n" +
	"2024-01-03 reserve B2 cy\n2024-01-03 reserve B2 bob\n2024-01-03 reserve A7 ada\n"

func TestReports(t *testing.T) {
	library, faults := ReadLog(desk)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	empty := NewLibrary()
	late := func(l *Library, date string) []string {
		day, _ := ParseDate(date)
		return Late(l, day)
	}
	for want, got := range map[string][]string{
		"A7 bob due 2024-01-16|B10 bob due 2024-01-16|B2 ada due 2024-01-15": Out(library),
		"nothing is out": Out(empty),
		"B2 ada 2 days|A7 bob 1 day|B10 bob 1 day": late(library, "2024-01-17"),
		"B2 ada 1 day":       late(library, "2024-01-16"),
		"":                   late(library, "2024-01-15"),
		"A7: ada|B2: cy bob": Waiting(library),
		"total 0":            Owed(empty),
	} {
		if strings.Join(got, "|") != want {
			t.Errorf("%v, not %s", got, want)
		}
	}
	if len(Waiting(empty)) != 0 {
		t.Error(Waiting(empty))
	}
	owing := NewLibrary()
	owing.Owed = map[string]int{"ada": 20, "bob": 0, "cy": 40, "abe": 20}
	if got := strings.Join(Owed(owing), "|"); got != "cy 40|abe 20|ada 20|total 80" {
		t.Error(got)
	}
}
