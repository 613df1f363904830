package baselines

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestNamesMakeSafePaths(t *testing.T) {
	for _, test := range []struct{ name, want string }{
		{"chat-8b", "chat-8b"},
		{"Chat 8B", "Chat+8B"},
		{"a/b", "a%2Fb"},
		{`a\b`, "a%5Cb"},
		{"..", "%2E%2E"},
		{".git", "%2Egit"},
		{"../../etc/passwd", "%2E.%2F..%2Fetc%2Fpasswd"},
		{"v1.2", "v1.2"},
		{"1×NVIDIA H100", "1%C3%97NVIDIA+H100"},
		{"a+b%c@d:e", "a%2Bb%25c%40d%3Ae"},
		{"日本", "%E6%97%A5%E6%9C%AC"},
		{"nul\x00\n", "nul%00%0A"},
		{"\xff", "%FF"},
	} {
		if got := escape(test.name); got != test.want {
			t.Errorf("escape(%q) = %q, want %q", test.name, got, test.want)
		}
		back, err := unescape(test.want)
		if err != nil || back != test.name {
			t.Errorf("unescape(%q) = %q, %v", test.want, back, err)
		}
	}
	for _, bad := range []string{"a%2", "%zz", "%41", "a b", ".x", "%2f", "a@b"} {
		if got, err := unescape(bad); err == nil {
			t.Errorf("unescape(%q) = %q, want an error", bad, got)
		}
	}
}

func TestKeyOf(t *testing.T) {
	r := sampleResult("chat-8b", "x")
	want := Key{"chat-8b", "2×NVIDIA H100", "sha256:9f2c"}
	if got := KeyOf(r); got != want {
		t.Errorf("KeyOf = %+v, want %+v", got, want)
	}
	r.Conditions.GPUModel, r.Conditions.GPUCount = "", 0
	if got := KeyOf(r).GPU; got != "unknown" {
		t.Errorf("GPU of a run that does not know it = %q", got)
	}
}

func TestKeysThatCannotBeFiles(t *testing.T) {
	for _, k := range []Key{
		{"", "g", "w"}, {"n", "g", ""}, {strings.Repeat("x", 241), "g", "w"}, {"n", strings.Repeat("×", 60), "w"},
	} {
		if k.valid() == nil {
			t.Errorf("%+v is taken for valid", k)
		}
	}
}

func FuzzKeyPath(f *testing.F) {
	f.Add("chat", "1×H100", "sha256:00")
	f.Add("..", "@", "/")
	f.Fuzz(func(t *testing.T, name, gpu, workload string) {
		k := Key{name, gpu, workload}
		if k.valid() != nil {
			return
		}
		path := k.path()
		if !filepath.IsLocal(path) || filepath.Clean(path) != filepath.FromSlash(path) || strings.Count(path, "/") != 1 {
			t.Fatalf("%+v becomes the path %q", k, path)
		}
		folder, rest, _ := strings.Cut(path, "/")
		if back, err := keyAt(folder, rest); err != nil || back != k {
			t.Fatalf("%q reads back as %+v, %v", path, back, err)
		}
	})
}
