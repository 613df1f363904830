package baselines

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

func TestDir(t *testing.T) {
	testStore(t, func(t *testing.T) storeCase {
		root := filepath.Join(t.TempDir(), "not", "there", "yet")
		at := func(path string) string { return filepath.Join(root, filepath.FromSlash(path)) }
		return storeCase{
			store:  NewDir(root),
			reopen: func() Store { return NewDir(root) },
			put: func(path string, data []byte) {
				t.Helper()
				if err := os.WriteFile(at(path), data, 0o644); err != nil {
					t.Fatal(err)
				}
			},
			read: func(path string) []byte {
				t.Helper()
				data, err := os.ReadFile(at(path))
				if err != nil {
					t.Fatal(err)
				}
				return data
			},
		}
	})
}

// files lists everything below a folder.
func files(t *testing.T, root string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestDirLeavesNothingBehindOnAFullDisk(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /dev/full, which Linux has")
	}
	root := t.TempDir()
	d := NewDir(root)
	d.create = func(folder string) (*os.File, error) { // a file on a disk without space
		path := filepath.Join(folder, ".new-full")
		if err := os.Symlink("/dev/full", path); err != nil {
			return nil, err
		}
		return os.OpenFile(path, os.O_WRONLY, 0)
	}
	err := d.Append(t.Context(), sampleEntry(t, "chat", 1))
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), root) {
		t.Errorf("Append = %v, want no space left, naming %s", err, root)
	}
	if left := files(t, root); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	// With space again, the same run is recorded.
	if err := NewDir(root).Append(t.Context(), sampleEntry(t, "chat", 1)); err != nil {
		t.Error(err)
	}
}

func TestDirThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{file, filepath.Join(file, "below"), "/proc/llm-gate-baselines"} {
		if strings.HasPrefix(root, "/proc") && runtime.GOOS != "linux" {
			continue
		}
		err := NewDir(root).Append(t.Context(), sampleEntry(t, "chat", 1))
		if err == nil || !strings.Contains(err.Error(), root) {
			t.Errorf("Append below %s = %v, want an error that names it", root, err)
		}
	}
	if _, err := NewDir(file).List(t.Context(), "chat"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("List in a file = %v: must not look like an empty store", err)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "precious" {
		t.Errorf("the file in the way holds %q, %v", data, err)
	}
}

// What a writer that was killed leaves is not a baseline and in nobody's way.
func TestDirIgnoresUnfinishedFiles(t *testing.T) {
	root := t.TempDir()
	e := sampleEntry(t, "chat", 1)
	folder := filepath.Join(root, filepath.FromSlash(e.Key.path()))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, ".new-123"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := NewDir(root)
	if err := d.Append(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if entries, err := History(t.Context(), d, e.Key, 5); err != nil || len(entries) != 1 {
		t.Errorf("History = %v, %v", ids(entries), err)
	}
}
