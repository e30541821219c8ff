package main

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Layout is how a date is written.
const Layout = "2006-01-02"

var (
	bookPattern = regexp.MustCompile(`^[A-Z][0-9]{1,4}$`)
	namePattern = regexp.MustCompile(`^[a-z]{1,12}$`)
	datePattern = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)
	centPattern = regexp.MustCompile(`^[0-9]{1,6}$`)
)

// Entry is one line of the log; fields that its verb does not have are empty.
type Entry struct {
	Line  int
	Date  time.Time
	Verb  string
	Book  string
	Name  string
	Cents int
}

// Fault is an error of the log at a line.
type Fault struct {
	Line int
	Text string
}

func (f Fault) String() string {
	return fmt.Sprintf("line %d: %s", f.Line, f.Text)
}

var forms = map[string]string{
	"add": "B", "join": "N", "lend": "BN", "return": "B", "reserve": "BN", "pay": "NC",
}

// ParseDate returns the day that text names.
func ParseDate(text string) (time.Time, error) {
	day, err := time.Parse(Layout, text)
	if err != nil || !datePattern.MatchString(text) {
		return time.Time{}, fmt.Errorf("%q is not a date", text)
	}
	return day, nil
}

// ParseEntry returns the entry in a line of the log.
func ParseEntry(number int, line string) (Entry, error) {
	words := strings.Fields(line)
	if len(words) < 2 {
		return Entry{}, errors.New("expected a date, a verb and words")
	}
	day, err := ParseDate(words[0])
	if err != nil {
		return Entry{}, err
	}
	entry := Entry{Line: number, Date: day, Verb: words[1]}
	form, known := forms[entry.Verb]
	if !known {
		return Entry{}, fmt.Errorf("unknown verb %q", entry.Verb)
	}
	if len(words)-2 != len(form) {
		return Entry{}, fmt.Errorf("%s takes %d words", entry.Verb, len(form))
	}
	for i, kind := range form {
		if err := entry.set(kind, words[i+2]); err != nil {
			return Entry{}, err
		}
	}
	return entry, nil
}

func (e *Entry) set(kind rune, word string) error {
	switch kind {
	case 'B':
		e.Book = word
		return matching(bookPattern, word, "a book")
	case 'N':
		e.Name = word
		return matching(namePattern, word, "a name")
	}
	e.Cents, _ = strconv.Atoi(word)
	if !centPattern.MatchString(word) || e.Cents < 1 || e.Cents > 100000 {
		return fmt.Errorf("%q is not an amount", word)
	}
	return nil
}

func matching(pattern *regexp.Regexp, word, what string) error {
	if !pattern.MatchString(word) {
		return fmt.Errorf("%q is not %s", word, what)
	}
	return nil
}
