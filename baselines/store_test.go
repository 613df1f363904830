package baselines

import (
	"context"
	"errors"
	"io/fs"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// storeCase is a fresh store with a way past it.
type storeCase struct {
	store Store
	// reopen is a second handle of the same store, as another process has it.
	reopen func() Store
	// put writes a file by hand, read reads one.
	put  func(path string, data []byte)
	read func(path string) []byte
}

// testStore holds for every store.
func testStore(t *testing.T, fresh func(*testing.T) storeCase) {
	key := sampleEntry(t, "chat", 1).Key
	fill := func(t *testing.T, store Store, entries ...*Entry) {
		t.Helper()
		for _, e := range entries {
			if err := store.Append(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Run("Empty", func(t *testing.T) {
		s := fresh(t).store
		if refs, err := s.List(t.Context(), "chat"); err != nil || len(refs) != 0 {
			t.Errorf("List = %v, %v", refs, err)
		}
		if _, err := s.Load(t.Context(), key, "x"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Load = %v, want ErrNotExist", err)
		}
		if entries, err := History(t.Context(), s, key, 5); err != nil || len(entries) != 0 {
			t.Errorf("History = %v, %v", entries, err)
		}
		if names, err := s.(Namer).Names(t.Context()); err != nil || len(names) != 0 {
			t.Errorf("Names = %v, %v", names, err)
		}
	})
	t.Run("HistoryIsNewestFirst", func(t *testing.T) {
		c := fresh(t)
		var want []string
		for _, n := range []int{3, 1, 5, 2, 4} {
			fill(t, c.store, sampleEntry(t, "chat", n))
		}
		for n := 5; n > 2; n-- {
			want = append(want, sampleEntry(t, "chat", n).ID)
		}
		fill(t, c.store, sampleEntry(t, "../other name", 9))
		for _, store := range []Store{c.store, c.reopen()} {
			entries, err := History(t.Context(), store, key, 3)
			if diff := cmp.Diff(want, ids(entries)); err != nil || diff != "" {
				t.Errorf("History: %v (-want +got):\n%s", err, diff)
			}
			names, err := store.(Namer).Names(t.Context())
			if diff := cmp.Diff([]string{"../other name", "chat"}, names); err != nil || diff != "" {
				t.Errorf("Names: %v (-want +got):\n%s", err, diff)
			}
		}
	})
	t.Run("Elsewhere", func(t *testing.T) {
		c := fresh(t)
		for i, gpu := range []string{"NVIDIA B200", "NVIDIA B200", "NVIDIA A100"} {
			r := sampleResult("chat", []string{"b200-old", "b200-new", "a100"}[i])
			r.Conditions.GPUModel = gpu
			e, err := NewEntry(r, First, "", day.Add(time.Duration(i)*time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			fill(t, c.store, e)
		}
		fill(t, c.store, sampleEntry(t, "chat", 1))
		entries, err := Elsewhere(t.Context(), c.store, key)
		if diff := cmp.Diff([]string{"a100", "b200-new"}, ids(entries)); err != nil || diff != "" {
			t.Errorf("Elsewhere: %v (-want +got):\n%s", err, diff)
		}
		if refs, err := c.store.List(t.Context(), "chat"); err != nil || len(refs) != 4 {
			t.Errorf("List over all keys = %v, %v", refIDs(refs), err)
		}
	})
	t.Run("SameIDTwice", func(t *testing.T) {
		c := fresh(t)
		e := sampleEntry(t, "chat", 1)
		fill(t, c.store, e)
		again := *e
		again.RecordedAt = again.RecordedAt.Add(time.Hour)
		for _, store := range []Store{c.store, c.reopen()} {
			if err := store.Append(t.Context(), &again); !errors.Is(err, fs.ErrExist) {
				t.Errorf("Append = %v, want ErrExist", err)
			}
		}
		if got, err := c.store.Load(t.Context(), key, e.ID); err != nil || !got.RecordedAt.Equal(e.RecordedAt) {
			t.Errorf("Load after it = %v, %v: want the first", got, err)
		}
	})
	t.Run("CorruptIsNotAbsent", func(t *testing.T) {
		c := fresh(t)
		older, newer := sampleEntry(t, "chat", 1), sampleEntry(t, "chat", 2)
		fill(t, c.store, older, newer)
		data := c.read(newer.path())
		cut := data[:len(data)/2]
		c.put(newer.path(), cut)
		for _, store := range []Store{c.store, c.reopen()} {
			_, err := History(t.Context(), store, key, 2)
			var corrupt *CorruptError
			if !errors.As(err, &corrupt) || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("History = %v, want a CorruptError", err)
			}
			if err := store.Append(t.Context(), newer); !errors.Is(err, fs.ErrExist) {
				t.Errorf("Append over it = %v, want ErrExist", err)
			}
		}
		if got := c.read(newer.path()); string(got) != string(cut) {
			t.Error("the corrupt file was changed")
		}
		// Outside the window it does not matter.
		newest := sampleEntry(t, "chat", 3)
		fill(t, c.store, newest)
		if entries, err := History(t.Context(), c.store, key, 1); err != nil || len(entries) != 1 {
			t.Errorf("History of one = %v, %v", ids(entries), err)
		}
	})
	t.Run("InAnothersPlace", func(t *testing.T) {
		c := fresh(t)
		one, two := sampleEntry(t, "chat", 1), sampleEntry(t, "chat", 2)
		fill(t, c.store, one)
		c.put(two.path(), c.read(one.path()))
		var corrupt *CorruptError
		if _, err := c.reopen().Load(t.Context(), key, two.ID); !errors.As(err, &corrupt) {
			t.Errorf("Load of a file under another's name = %v, want a CorruptError", err)
		}
	})
	t.Run("StrangeFile", func(t *testing.T) {
		c := fresh(t)
		fill(t, c.store, sampleEntry(t, "chat", 1))
		c.put(key.path()+"/renamed.json", []byte("{}"))
		var corrupt *CorruptError
		if _, err := c.reopen().List(t.Context(), "chat"); !errors.As(err, &corrupt) {
			t.Errorf("List with a strange file = %v, want a CorruptError", err)
		}
	})
	t.Run("RefusesWhatIsNone", func(t *testing.T) {
		c := fresh(t)
		e := sampleEntry(t, "chat", 1)
		e.Conclusion = "red"
		if err := c.store.Append(t.Context(), e); err == nil {
			t.Error("a red run was appended")
		}
		if refs, err := c.store.List(t.Context(), "chat"); err != nil || len(refs) != 0 {
			t.Errorf("List = %v, %v", refs, err)
		}
	})
	t.Run("Cancelled", func(t *testing.T) {
		c := fresh(t)
		fill(t, c.store, sampleEntry(t, "chat", 1))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.reopen().Append(ctx, sampleEntry(t, "chat", 2)); !errors.Is(err, context.Canceled) {
			t.Errorf("Append = %v, want Canceled", err)
		}
		if _, err := c.reopen().List(ctx, "chat"); !errors.Is(err, context.Canceled) {
			t.Errorf("List = %v, want Canceled", err)
		}
	})
	t.Run("ParallelWritersLoseNothing", func(t *testing.T) {
		c := fresh(t)
		const writers = 32
		errs := make(chan error, writers)
		for n := range writers {
			go func() { errs <- c.reopen().Append(t.Context(), sampleEntry(t, "chat", n)) }()
		}
		for range writers {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if entries, err := History(t.Context(), c.reopen(), key, 2*writers); err != nil || len(entries) != writers {
			t.Errorf("%d entries of %d writers, %v", len(entries), writers, err)
		}
	})
	t.Run("ParallelWritersOfOneID", func(t *testing.T) {
		c := fresh(t)
		const writers = 8
		errs := make(chan error, writers)
		for range writers {
			go func() { errs <- c.reopen().Append(t.Context(), sampleEntry(t, "chat", 1)) }()
		}
		for range writers {
			if err := <-errs; err != nil && !errors.Is(err, fs.ErrExist) {
				t.Error(err)
			}
		}
		if refs, err := c.reopen().List(t.Context(), "chat"); err != nil || len(refs) != 1 {
			t.Errorf("List = %v, %v: want one", refIDs(refs), err)
		}
	})
}
