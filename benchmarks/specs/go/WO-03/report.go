package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Out returns a line for each lent book.
func Out(l *Library) []string {
	lines := []string{}
	for _, code := range codes(l) {
		if book := l.Books[code]; book.Holder != "" {
			lines = append(lines, fmt.Sprintf("%s %s due %s", code, book.Holder, book.Due.Format(Layout)))
		}
	}
	if len(lines) == 0 {
		return []string{"nothing is out"}
	}
	return lines
}

// Late returns a line for each book that is late on a day, the longest late first.
func Late(l *Library, day time.Time) []string {
	late := map[string]int{}
	for code, book := range l.Books {
		if days := DaysLate(book.Due, day); book.Holder != "" && days > 0 {
			late[code] = days
		}
	}
	lines := []string{}
	for _, code := range ranked(late) {
		unit := "days"
		if late[code] == 1 {
			unit = "day"
		}
		lines = append(lines, fmt.Sprintf("%s %s %d %s", code, l.Books[code].Holder, late[code], unit))
	}
	return lines
}

// Owed returns a line for each member who owes something, and the total.
func Owed(l *Library) []string {
	lines, total := []string{}, 0
	for _, name := range ranked(l.Owed) {
		if cents := l.Owed[name]; cents > 0 {
			lines = append(lines, fmt.Sprintf("%s %d", name, cents))
			total += cents
		}
	}
	return append(lines, fmt.Sprintf("total %d", total))
}

// Waiting returns a line for each book with a queue.
func Waiting(l *Library) []string {
	lines := []string{}
	for _, code := range codes(l) {
		if queue := l.Books[code].Queue; len(queue) > 0 {
			lines = append(lines, code+": "+strings.Join(queue, " "))
		}
	}
	return lines
}

func codes(l *Library) []string {
	return slices.Sorted(maps.Keys(l.Books))
}

func ranked(figures map[string]int) []string {
	return slices.SortedFunc(maps.Keys(figures), func(a, b string) int {
		return cmp.Or(cmp.Compare(figures[b], figures[a]), cmp.Compare(a, b))
	})
}
