package baselines

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ErrConflict says that a store lost the race against other writers so often
// that it gave up. Nothing was written; trying again later is safe.
var ErrConflict = errors.New("too many others write at the same time")

// Store keeps entries. It is safe for concurrent use, within the process and
// against other processes. Every call honours ctx.
type Store interface {
	// Load reads one entry. One that is not there is fs.ErrNotExist; one that
	// cannot be trusted is a *CorruptError; any other error means that the
	// store could not be asked.
	Load(ctx context.Context, key Key, id string) (*Entry, error)
	// Append adds an entry: durably and whole, or not at all. An id that its
	// key has already is fs.ErrExist. Lost races are retried within; where that
	// does not help the error is ErrConflict.
	Append(ctx context.Context, e *Entry) error
	// List names every entry of a service over all its keys, newest first. A
	// service without any is an empty list. It reads no entry; a file among
	// them that is none is a *CorruptError.
	List(ctx context.Context, name string) ([]Ref, error)
}

// Namer is a Store that can tell which services it holds.
type Namer interface {
	// Names lists the services, sorted; none is an empty list.
	Names(ctx context.Context) ([]string, error)
}

// Ref points at an entry.
type Ref struct {
	Key        Key
	ID         string
	RecordedAt time.Time // to the millisecond
	// Path is where the entry lies within its store, for messages.
	Path string
}

// History loads the newest keep entries of a key, newest first. A corrupt one
// among them is an error: a window with a hole is not the window asked for.
func History(ctx context.Context, store Store, key Key, keep int) ([]*Entry, error) {
	refs, err := store.List(ctx, key.Name)
	if err != nil {
		return nil, err
	}
	var entries []*Entry
	for _, ref := range refs {
		if ref.Key != key {
			continue
		}
		if len(entries) >= keep {
			break
		}
		e, err := store.Load(ctx, key, ref.ID)
		if err != nil {
			return nil, fmt.Errorf("load history of %s: %w", key, err)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// Elsewhere loads the newest entry of every other key of the same service,
// newest first: what there is to compare with where the key itself has none.
func Elsewhere(ctx context.Context, store Store, key Key) ([]*Entry, error) {
	refs, err := store.List(ctx, key.Name)
	if err != nil {
		return nil, err
	}
	seen := map[Key]bool{key: true}
	var entries []*Entry
	for _, ref := range refs {
		if seen[ref.Key] {
			continue
		}
		seen[ref.Key] = true
		e, err := store.Load(ctx, ref.Key, ref.ID)
		if err != nil {
			return nil, fmt.Errorf("load newest entry of %s: %w", ref.Key, err)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// stampLayout is the time in a file's name: of fixed width, sorting by time.
const stampLayout = "20060102T150405.000Z"

// fileName is <time>_<id>.json.
func (e *Entry) fileName() string {
	return e.RecordedAt.UTC().Format(stampLayout) + "_" + escape(e.ID) + ".json"
}

// path is the entry's file within a store, with slashes.
func (e *Entry) path() string { return e.Key.path() + "/" + e.fileName() }

// refAt reads a Ref back from a path of three elements.
func refAt(path string) (Ref, error) {
	parts := strings.Split(path, "/")
	if len(parts) != 3 {
		return Ref{}, errors.New("the path is not service/GPU@workload/file")
	}
	key, err := keyAt(parts[0], parts[1])
	if err != nil {
		return Ref{}, err
	}
	stamp, rest, _ := strings.Cut(parts[2], "_")
	at, err := time.Parse(stampLayout, stamp)
	if err != nil {
		return Ref{}, errors.New("the file's name is not TIME_ID.json")
	}
	element, ok := strings.CutSuffix(rest, ".json")
	if !ok {
		return Ref{}, errors.New("the file's name is not TIME_ID.json")
	}
	id, err := unescape(element)
	if err != nil {
		return Ref{}, err
	}
	return Ref{Key: key, ID: id, RecordedAt: at, Path: path}, nil
}

// checkPlace refuses an entry that lies where another belongs.
func (e *Entry) checkPlace(path string, ref Ref) error {
	if e.Key != ref.Key || e.ID != ref.ID || !e.RecordedAt.Equal(ref.RecordedAt) {
		return &CorruptError{Path: path, Err: fmt.Errorf("it holds run %s of %s, recorded %s, which is not what its name says",
			e.ID, e.Key, e.RecordedAt.UTC().Format(time.RFC3339))}
	}
	return nil
}

func sortNewestFirst(refs []Ref) {
	slices.SortFunc(refs, func(a, b Ref) int {
		return cmp.Or(b.RecordedAt.Compare(a.RecordedAt), cmp.Compare(b.ID, a.ID))
	})
}

// find is the newest of refs with a key and an id.
func find(refs []Ref, key Key, id string) (Ref, bool) {
	for _, ref := range refs {
		if ref.Key == key && ref.ID == id {
			return ref, true
		}
	}
	return Ref{}, false
}
