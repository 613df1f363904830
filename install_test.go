package main_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// releases is a release server on loopback: GitHub's site and its API.
type releases struct {
	*httptest.Server
	mu    sync.Mutex
	files map[string][]byte // path → content
	seen  []string          // "path authorization"
}

func newReleases(t *testing.T, tags ...string) *releases {
	t.Helper()
	r := &releases{files: map[string][]byte{}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	var list []string
	for _, tag := range tags {
		archive := archiveOf(t, "#!/bin/sh\necho release "+tag+"\n")
		r.put(tag, archive, fmt.Sprintf("%x", sha256.Sum256(archive)))
		list = append(list, fmt.Sprintf(`{"tag_name": %q, "body": "not \"tag_name\": \"v1.99.0\""}`, tag))
	}
	r.files["/api/repos/org/llm-gate/releases"] = []byte("[" + strings.Join(list, ",") + "]")
	return r
}

func (r *releases) put(tag string, archive []byte, sum string) {
	name := fmt.Sprintf("llm-gate_%s_%s.tar.gz", runtime.GOOS, runtime.GOARCH)
	base := "/org/llm-gate/releases/download/" + tag + "/"
	r.files[base+name] = archive
	r.files[base+"SHA256SUMS"] = fmt.Appendf(nil, "%064d  other.tar.gz\n%s  %s\n", 0, sum, name)
}

func (r *releases) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, strings.TrimSpace(req.URL.Path+" "+req.Header.Get("Authorization")))
	body, ok := r.files[req.URL.Path]
	if !ok {
		http.NotFound(w, req)
		return
	}
	_, _ = w.Write(body)
}

func (r *releases) requests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.seen...)
}

func archiveOf(t *testing.T, program string) []byte {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	archive := tar.NewWriter(zip)
	if err := archive.WriteHeader(&tar.Header{Name: "llm-gate", Mode: 0o755, Size: int64(len(program))}); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.Write([]byte(program)); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// installer runs install.sh as the action does, from a checkout of its own
// whose program is tiny, on a runner of its own.
type installer struct {
	script, checkout, cache, temp, output string
	env                                   []string
}

func newInstaller(t *testing.T, server string) *installer {
	t.Helper()
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("install.sh is for Linux and macOS runners")
	}
	for _, program := range []string{"sh", "curl", "tar", "go"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs %s: %v", program, err)
		}
	}
	script, err := filepath.Abs("install.sh")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	in := &installer{
		script: script, checkout: filepath.Join(root, "the checkout"), cache: filepath.Join(root, "tool cache"),
		temp: filepath.Join(root, "runner temp"), output: filepath.Join(root, "output"),
	}
	for _, dir := range []string{filepath.Join(in.checkout, "gate", "cli"), in.cache, in.temp} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(in.checkout, "go.mod"), "module github.com/org/llm-gate\n\ngo 1.21\n")
	write(t, filepath.Join(in.checkout, "main.go"), "package main\n\nimport \"github.com/org/llm-gate/gate/cli\"\n\nfunc main() { print(\"built \" + cli.Version()) }\n")
	write(t, filepath.Join(in.checkout, "gate", "cli", "version.go"), "package cli\n\nvar version string\n\nfunc Version() string { return version }\n")
	in.env = append(goEnv(t),
		"PATH="+os.Getenv("PATH"), "HOME="+root, "GITHUB_ACTIONS=true", "GITHUB_OUTPUT="+in.output,
		"RUNNER_TOOL_CACHE="+in.cache, "RUNNER_TEMP="+in.temp, "GITHUB_SERVER_URL="+server, "GITHUB_API_URL="+server+"/api",
		"INSTALL_FROM="+in.checkout, "INSTALL_REPOSITORY=", "INSTALL_VERSION=", "INSTALL_TOKEN=", "no_proxy=127.0.0.1")
	return in
}

// goEnv lets go build here use the caches of this machine and no network.
func goEnv(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	dirs := strings.Split(strings.TrimSpace(string(out)), "\n")
	return []string{"GOCACHE=" + dirs[0], "GOMODCACHE=" + dirs[1], "GOPROXY=off", "GOTOOLCHAIN=local", "GOFLAGS=-mod=readonly"}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run returns what the obtained binary prints, or what the script said.
func (in *installer) run(t *testing.T, env ...string) (printed, said string, code int) {
	t.Helper()
	_ = os.Remove(in.output)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", in.script)
	cmd.Env = append(append([]string(nil), in.env...), env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	said = out.String() + errs.String()
	if left, globErr := filepath.Glob(filepath.Join(in.temp, "llm-gate-install.*")); globErr != nil || len(left) > 0 {
		t.Errorf("left behind %v, %v", left, globErr)
	}
	if err != nil {
		return "", said, cmd.ProcessState.ExitCode()
	}
	raw, err := os.ReadFile(in.output)
	if err != nil {
		t.Fatalf("no output: %v\n%s", err, said)
	}
	bin, ok := strings.CutPrefix(strings.TrimSuffix(string(raw), "\n"), "bin=")
	if lines := strings.Split(strings.TrimSpace(out.String()), "\n"); !ok || lines[len(lines)-1] != bin {
		t.Errorf("output %q, last line %q: want the same path", raw, lines[len(lines)-1])
	}
	combined, err := exec.Command(bin).CombinedOutput()
	if err != nil {
		t.Fatalf("run %s: %v", bin, err)
	}
	return strings.TrimSpace(string(combined)), said, 0
}

func TestInstall(t *testing.T) {
	for _, tt := range []struct {
		name string
		env  []string
		want string
	}{
		{"exact release", []string{"INSTALL_REF=v1.2.3"}, "release v1.2.3"},
		{"newest of a major version", []string{"INSTALL_REF=v1"}, "release v1.10.0"},
		{"newest of a minor version", []string{"INSTALL_REF=v1.2"}, "release v1.2.10"},
		{"version beside a commit", []string{"INSTALL_REF=3f9d2b1c", "INSTALL_VERSION=v1.2.3"}, "release v1.2.3"},
		{"prerelease by its name only", []string{"INSTALL_REF=v2.0.0-rc.1"}, "release v2.0.0-rc.1"},
		{"no ref", []string{"INSTALL_REF="}, "built"},
		{"branch", []string{"INSTALL_REF=main"}, "built main"},
		{"commit", []string{"INSTALL_REF=3f9d2b1c"}, "built 3f9d2b1c"},
		{"branch that looks like a command", []string{"INSTALL_REF=v1$(touch x); \n v1.2.3"}, "built"},
		{"major version without a release", []string{"INSTALL_REF=v2"}, "built 2"},
		{"release that is not there", []string{"INSTALL_REF=v1.2.99"}, "built 1.2.99"},
		{"no server", []string{"INSTALL_REF=v1.2.3", "GITHUB_SERVER_URL=http://127.0.0.1:1", "GITHUB_API_URL=http://127.0.0.1:1"}, "built 1.2.3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := newReleases(t, "v1.2.3", "v1.2.10", "v1.10.0", "v1.9.0", "v2.0.0-rc.1", "v10.0.0")
			printed, said, code := newInstaller(t, server.URL).run(t, tt.env...)
			if printed != tt.want {
				t.Errorf("installed %q, want %q; exit %d:\n%s", printed, tt.want, code, said)
			}
		})
	}
}

func TestInstallTakesTheToolCacheFirst(t *testing.T) {
	server := newReleases(t, "v1.2.3")
	in := newInstaller(t, server.URL)
	for range 2 {
		if printed, said, _ := in.run(t, "INSTALL_REF=v1.2.3"); printed != "release v1.2.3" {
			t.Fatalf("installed %q:\n%s", printed, said)
		}
	}
	if got := server.requests(); len(got) != 2 {
		t.Errorf("requests = %q, want the checksums and the archive once", got)
	}
	if found, _ := filepath.Glob(filepath.Join(in.cache, "llm-gate", "1.2.3", "*", "llm-gate")); len(found) != 1 {
		t.Errorf("in the tool cache: %v", found)
	}
	// Offline, v1 is the newest that was fetched before.
	server.Close()
	if printed, said, _ := in.run(t, "INSTALL_REF=v1"); printed != "release v1.2.3" {
		t.Errorf("offline: installed %q:\n%s", printed, said)
	}
}

func TestInstallRefusesAWrongChecksum(t *testing.T) {
	for name, sum := range map[string]string{
		"other":   strings.Repeat("a", 64),
		"missing": "",
	} {
		t.Run(name, func(t *testing.T) {
			server := newReleases(t)
			server.put("v1.2.3", archiveOf(t, "#!/bin/sh\necho tampered\n"), sum)
			in := newInstaller(t, server.URL)
			_, said, code := in.run(t, "INSTALL_REF=v1.2.3")
			if code != 2 || !strings.Contains(said, "SHA") || !strings.Contains(said, "::error title=llm-gate::verify llm-gate_") {
				t.Errorf("exit %d:\n%s", code, said)
			}
			if found, _ := filepath.Glob(filepath.Join(in.cache, "llm-gate", "*", "*", "*")); len(found) != 0 {
				t.Errorf("installed all the same: %v", found)
			}
			if _, err := os.Stat(in.output); err == nil {
				t.Error("an output was set")
			}
		})
	}
}

func TestInstallSaysWhyItCannot(t *testing.T) {
	t.Run("no go", func(t *testing.T) {
		in := newInstaller(t, "http://127.0.0.1:1")
		bare := t.TempDir()
		for _, program := range []string{"sh", "uname", "mktemp", "rm", "mkdir", "grep", "sed", "tr"} {
			path, err := exec.LookPath(program)
			if err != nil {
				t.Skip(err)
			}
			if err := os.Symlink(path, filepath.Join(bare, program)); err != nil {
				t.Fatal(err)
			}
		}
		_, said, code := in.run(t, "INSTALL_REF=main", "PATH="+bare)
		if code != 2 || !strings.Contains(said, "install Go before (actions/setup-go)") {
			t.Errorf("exit %d:\n%s", code, said)
		}
	})
	t.Run("source that does not build", func(t *testing.T) {
		in := newInstaller(t, "http://127.0.0.1:1")
		write(t, filepath.Join(in.checkout, "main.go"), "package main\n\nfunc main() { undefined() }\n")
		_, said, code := in.run(t, "INSTALL_REF=")
		if code != 2 || !strings.Contains(said, "undefined: undefined") || !strings.Contains(said, "go build failed") {
			t.Errorf("exit %d:\n%s", code, said)
		}
	})
	t.Run("version that is none", func(t *testing.T) {
		in := newInstaller(t, "http://127.0.0.1:1")
		_, said, code := in.run(t, "INSTALL_REF=v1.2.3", "INSTALL_VERSION=latest")
		if code != 2 || !strings.Contains(said, `"latest" is not a release`) {
			t.Errorf("exit %d:\n%s", code, said)
		}
	})
}

func TestInstallShowsItsTokenToTheAPIOnly(t *testing.T) {
	server := newReleases(t, "v1.2.3")
	in := newInstaller(t, server.URL)
	if _, said, _ := in.run(t, "INSTALL_REF=v1", "INSTALL_TOKEN=ghs_token"); strings.Contains(said, "ghs_token") {
		t.Errorf("the token is in the log:\n%s", said)
	}
	var withToken []string
	for _, r := range server.requests() {
		if strings.Contains(r, "ghs_token") {
			withToken = append(withToken, r)
		}
	}
	if len(withToken) != 1 || withToken[0] != "/api/repos/org/llm-gate/releases Bearer ghs_token" {
		t.Errorf("with the token: %q, want only the API", withToken)
	}
	// A token that could add options to curl's config is not used.
	if printed, said, _ := in.run(t, "INSTALL_REF=v1", "INSTALL_TOKEN=x\"\noutput = \"/tmp/x"); printed != "release v1.2.3" {
		t.Errorf("installed %q:\n%s", printed, said)
	}
}
