package settings

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// place is a line of a file.
type place struct {
	file string
	line int // 0: not known
}

// String is FILE:LINE.
func (p place) String() string {
	if p.line == 0 {
		return p.file
	}
	return p.file + ":" + strconv.Itoa(p.line)
}

// problem is one thing that is wrong, and where. Without a file the error itself
// says where.
type problem struct {
	at  place
	err error
}

// problem notes that the value of a path is wrong. For an item of a list that
// came from the file it names the item's line.
func (l *loader) problem(path string, err error) {
	found := problem{err: fmt.Errorf("%s: %w", shown(path), err)}
	if at := l.places[path]; at.line > 0 && l.origins[path] == at.String() {
		found.at = l.narrowed(at, path, err)
	} else {
		found.err = fmt.Errorf("%s: %w", cmp.Or(l.origins[path], "default"), found.err)
	}
	l.problems = append(l.problems, found)
}

// narrowed is the line of the item and field that err is about, if it says so.
func (l *loader) narrowed(at place, path string, err error) place {
	var item *itemError
	if !errors.As(err, &item) {
		return at
	}
	path = itemPath(path, item.item)
	return cmp.Or(l.places[path+delimiter+item.field], l.places[path], at)
}

// err joins the problems, those of the file in the order of its lines.
func (l *loader) err() error {
	slices.SortStableFunc(l.problems, func(a, b problem) int { return cmp.Compare(a.at.line, b.at.line) })
	errs := make([]error, len(l.problems))
	for i, p := range l.problems {
		errs[i] = p.err
		if p.at.file != "" {
			errs[i] = fmt.Errorf("%s: %w", p.at, p.err)
		}
	}
	return errors.Join(errs...)
}
