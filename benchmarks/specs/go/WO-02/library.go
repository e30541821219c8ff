package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	loanDays  = 14
	dayCents  = 20
	mostCents = 300
	mostBooks = 3
	tooMuch   = 500
)

// Book is a book of the library; Holder is empty while it is there.
type Book struct {
	Holder string
	Due    time.Time
	Queue  []string
}

// Library is the state of the desk after some entries.
type Library struct {
	Books map[string]*Book
	Owed  map[string]int
	last  time.Time
}

// NewLibrary returns a library without books and members.
func NewLibrary() *Library {
	return &Library{Books: map[string]*Book{}, Owed: map[string]int{}}
}

// ReadLog returns the library after the log, and the faults of the log by line.
func ReadLog(text string) (*Library, []Fault) {
	library, faults := NewLibrary(), []Fault{}
	for i, line := range strings.Split(text, "\n") {
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		entry, err := ParseEntry(i+1, line)
		if err == nil {
			err = library.Apply(entry)
		}
		if err != nil {
			faults = append(faults, Fault{i + 1, err.Error()})
		}
	}
	return library, faults
}

// Apply carries out an entry; one with an error changes nothing.
func (l *Library) Apply(e Entry) error {
	if e.Date.Before(l.last) {
		return errors.New("the date is before that of the entry above")
	}
	if err := l.apply(e); err != nil {
		return err
	}
	l.last = e.Date
	return nil
}

func (l *Library) apply(e Entry) error {
	book, hasBook := l.Books[e.Book]
	_, hasName := l.Owed[e.Name]
	switch {
	case e.Verb == "add" && hasBook:
		return fmt.Errorf("%s is there already", e.Book)
	case e.Verb == "add":
		l.Books[e.Book] = &Book{}
		return nil
	case e.Verb == "join" && hasName:
		return fmt.Errorf("%s is a member already", e.Name)
	case e.Verb == "join":
		l.Owed[e.Name] = 0
		return nil
	case e.Book != "" && !hasBook:
		return fmt.Errorf("%s is not known", e.Book)
	case e.Name != "" && !hasName:
		return fmt.Errorf("%s is not known", e.Name)
	case e.Verb == "lend":
		return l.lend(book, e)
	case e.Verb == "return":
		return l.giveBack(book, e)
	case e.Verb == "reserve":
		return reserve(book, e.Name)
	case e.Cents > l.Owed[e.Name]:
		return fmt.Errorf("%s owes %d cents", e.Name, l.Owed[e.Name])
	}
	l.Owed[e.Name] -= e.Cents
	return nil
}

func (l *Library) lend(book *Book, e Entry) error {
	held := 0
	for _, each := range l.Books {
		if each.Holder == e.Name {
			held++
		}
	}
	switch {
	case book.Holder != "":
		return fmt.Errorf("%s is out", e.Book)
	case len(book.Queue) > 0 && book.Queue[0] != e.Name:
		return fmt.Errorf("%s is kept for %s", e.Book, book.Queue[0])
	case held == mostBooks:
		return fmt.Errorf("%s has three books", e.Name)
	case l.Owed[e.Name] >= tooMuch:
		return fmt.Errorf("%s owes %d cents", e.Name, l.Owed[e.Name])
	}
	if len(book.Queue) > 0 {
		book.Queue = book.Queue[1:]
	}
	book.Holder, book.Due = e.Name, e.Date.AddDate(0, 0, loanDays)
	return nil
}

func (l *Library) giveBack(book *Book, e Entry) error {
	if book.Holder == "" {
		return fmt.Errorf("%s is there", e.Book)
	}
	l.Owed[book.Holder] += min(max(DaysLate(book.Due, e.Date), 0)*dayCents, mostCents)
	book.Holder = ""
	return nil
}

func reserve(book *Book, name string) error {
	if book.Holder == "" || book.Holder == name || slices.Contains(book.Queue, name) {
		return errors.New("the book is there, or the member has it or waits for it")
	}
	book.Queue = append(book.Queue, name)
	return nil
}

// DaysLate returns how many days a day is after the due date; it is negative before.
func DaysLate(due, day time.Time) int {
	return int(day.Sub(due).Hours() / 24)
}
