package baselines

import (
	"errors"
	"fmt"
	"strings"

	"github.com/org/llm-gate/loadtest"
)

// Key names one history: results under it were made for the same service, on
// the same hardware, with the same load.
type Key struct {
	Name     string `json:"name"`     // of the service
	GPU      string `json:"gpu"`      // "2×NVIDIA H100", "unknown" where nothing tells
	Workload string `json:"workload"` // hash of all that shapes the load
}

// KeyOf is the history that a result belongs to.
func KeyOf(r *loadtest.Result) Key {
	gpu := r.Conditions.GPUModel
	if gpu == "" {
		gpu = "unknown"
	}
	if r.Conditions.GPUCount > 0 {
		gpu = fmt.Sprintf("%d×%s", r.Conditions.GPUCount, gpu)
	}
	return Key{Name: r.Name, GPU: gpu, Workload: r.Conditions.Workload}
}

// String is the key in words.
func (k Key) String() string { return fmt.Sprintf("%q on %s, workload %s", k.Name, k.GPU, k.Workload) }

// maxPart bounds an element of a path in bytes; file systems take 255.
const maxPart = 240

// valid reports what keeps the key from naming a history.
func (k Key) valid() error {
	switch {
	case k.Name == "":
		return errors.New("the name of the service is empty: set name in the config or --name")
	case k.Workload == "":
		return errors.New("the workload's hash is empty")
	case len(escape(k.Name)) > maxPart:
		return fmt.Errorf("the name of the service is too long for a file name (%d bytes, at most %d)", len(escape(k.Name)), maxPart)
	case len(k.folder()) > maxPart:
		return fmt.Errorf("GPU %q and workload %q are too long for a file name", k.GPU, k.Workload)
	}
	return nil
}

// folder is the path element of GPU and workload.
func (k Key) folder() string { return escape(k.GPU) + "@" + escape(k.Workload) }

// path is the folder of the key's history within a store, with slashes.
func (k Key) path() string { return escape(k.Name) + "/" + k.folder() }

// keyAt reads a key back from the two elements of its path.
func keyAt(name, folder string) (Key, error) {
	gpu, workload, ok := strings.Cut(folder, "@")
	if !ok {
		return Key{}, errors.New("the folder's name is not GPU@workload")
	}
	var k Key
	var errName, errGPU, errWorkload error
	k.Name, errName = unescape(name)
	k.GPU, errGPU = unescape(gpu)
	k.Workload, errWorkload = unescape(workload)
	if err := errors.Join(errName, errGPU, errWorkload); err != nil {
		return Key{}, err
	}
	return k, nil
}

// escape makes one path element of any text, reversibly: letters, digits and
// "_-." stay, a space is "+", any other byte is %XX, and so is a dot at either
// end, so that no element is "..", hidden, or ".git". Case is kept: names that
// differ only in case must not share a store on a file system that ignores it.
func escape(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-',
			c == '.' && i > 0 && i < len(text)-1:
			out.WriteByte(c)
		case c == ' ':
			out.WriteByte('+')
		default:
			fmt.Fprintf(&out, "%%%02X", c)
		}
	}
	return out.String()
}

// unescape undoes escape and refuses what escape cannot have written.
func unescape(element string) (string, error) {
	var out strings.Builder
	for i := 0; i < len(element); i++ {
		switch c := element[i]; c {
		case '+':
			out.WriteByte(' ')
		case '%':
			var b byte
			if i+2 >= len(element) {
				return "", fmt.Errorf("%q is not a name that was written here", element)
			}
			if _, err := fmt.Sscanf(element[i+1:i+3], "%02X", &b); err != nil {
				return "", fmt.Errorf("%q is not a name that was written here", element)
			}
			out.WriteByte(b)
			i += 2
		default:
			out.WriteByte(c)
		}
	}
	if escape(out.String()) != element {
		return "", fmt.Errorf("%q is not a name that was written here", element)
	}
	return out.String(), nil
}
