package baselines

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Dir is a Store in a directory:
//
//	<service>/<GPU>@<workload>/<time>_<id>.json
//
// The directory is made by the first Append. A file appears whole or not at
// all, and is on the disk when Append returns.
type Dir struct {
	path string
	// create makes a new temporary file in a folder.
	create func(folder string) (*os.File, error)
}

// NewDir is a store in the directory at path, which need not exist.
func NewDir(path string) *Dir {
	return &Dir{path: path, create: func(folder string) (*os.File, error) { return os.CreateTemp(folder, ".new-*") }}
}

// Load implements Store.
func (d *Dir) Load(ctx context.Context, key Key, id string) (*Entry, error) {
	refs, err := d.List(ctx, key.Name)
	if err != nil {
		return nil, err
	}
	ref, ok := find(refs, key, id)
	if !ok {
		return nil, fmt.Errorf("load baseline %s of %s from %s: %w", id, key, d.path, fs.ErrNotExist)
	}
	path := filepath.Join(d.path, filepath.FromSlash(ref.Path))
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("load baseline %s: %w", id, err)
	}
	e, err := ReadEntry(path, data)
	if err != nil {
		return nil, err
	}
	if err := e.checkPlace(path, ref); err != nil {
		return nil, err
	}
	return e, nil
}

// List implements Store.
func (d *Dir) List(ctx context.Context, name string) ([]Ref, error) {
	folders, err := readDir(filepath.Join(d.path, escape(name)))
	if err != nil {
		return nil, fmt.Errorf("list baselines of %q: %w", name, err)
	}
	var refs []Ref
	for _, folder := range folders {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !folder.IsDir() {
			continue
		}
		files, err := readDir(filepath.Join(d.path, escape(name), folder.Name()))
		if err != nil {
			return nil, fmt.Errorf("list baselines of %q: %w", name, err)
		}
		for _, file := range files {
			path := escape(name) + "/" + folder.Name() + "/" + file.Name()
			if !strings.HasSuffix(path, ".json") {
				continue
			}
			ref, err := refAt(path)
			if err != nil {
				return nil, &CorruptError{Path: filepath.Join(d.path, filepath.FromSlash(path)), Err: err}
			}
			refs = append(refs, ref)
		}
	}
	sortNewestFirst(refs)
	return refs, nil
}

// Names implements Namer.
func (d *Dir) Names(context.Context) ([]string, error) {
	folders, err := readDir(d.path)
	if err != nil {
		return nil, fmt.Errorf("list baselines: %w", err)
	}
	var names []string
	for _, folder := range folders {
		if name, err := unescape(folder.Name()); err == nil && folder.IsDir() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// readDir is a folder's visible content; none where the folder does not exist.
func readDir(path string) ([]fs.DirEntry, error) {
	all, err := os.ReadDir(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return slices.DeleteFunc(all, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") }), nil
}

// Append implements Store. Two processes that append the same id in the same
// moment at different times of recording may both succeed.
func (d *Dir) Append(ctx context.Context, e *Entry) error {
	if err := e.valid(); err != nil {
		return fmt.Errorf("append baseline %s: %w", e.ID, err)
	}
	data, err := e.Encode()
	if err != nil {
		return err
	}
	refs, err := d.List(ctx, e.Key.Name)
	if err != nil {
		return err
	}
	if have, ok := find(refs, e.Key, e.ID); ok {
		return fmt.Errorf("append baseline %s: %w as %s", e.ID, fs.ErrExist, filepath.Join(d.path, filepath.FromSlash(have.Path)))
	}
	folder := filepath.Join(d.path, filepath.FromSlash(e.Key.path()))
	if err := makeFolder(folder); err != nil {
		return fmt.Errorf("append baseline %s: %w", e.ID, err)
	}
	if err := d.write(folder, e.fileName(), data); err != nil {
		return fmt.Errorf("append baseline %s to %s: %w", e.ID, folder, err)
	}
	return nil
}

// write makes a file durably and never over another: a temporary file in the
// same folder, fsync, a link under its name, fsync of the folder.
func (d *Dir) write(folder, name string, data []byte) (err error) {
	temp, err := d.create(folder)
	if err != nil {
		return err
	}
	defer func() {
		if removeErr := os.Remove(temp.Name()); !errors.Is(removeErr, fs.ErrNotExist) {
			err = errors.Join(err, removeErr)
		}
	}()
	_, err = temp.Write(data)
	if err == nil {
		err = temp.Chmod(0o644)
	}
	if err == nil {
		err = temp.Sync()
	}
	if err = errors.Join(err, temp.Close()); err != nil {
		return err
	}
	if err := place(temp.Name(), filepath.Join(folder, name)); err != nil {
		return err
	}
	return syncFolder(folder)
}

// place gives a file its name unless that is taken. File systems without hard
// links get a rename after a look, which another writer can slip between.
func place(temp, path string) error {
	err := os.Link(temp, path)
	if err == nil || errors.Is(err, fs.ErrExist) || !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	return os.Rename(temp, path)
}

// makeFolder makes a folder and those above it, each on the disk before the next.
func makeFolder(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	parent := filepath.Dir(path)
	if parent != path {
		if err := makeFolder(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		if info, statErr := os.Stat(path); errors.Is(err, fs.ErrExist) && statErr == nil && info.IsDir() {
			return nil // another writer was faster
		}
		return err
	}
	return syncFolder(parent)
}

func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil // folders cannot be synced there
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
