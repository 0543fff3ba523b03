package machine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// RootDisk returns the size of the claim of the first disk that has one, or zero.
func (m *Machine) RootDisk() resource.Quantity {
	sizes := map[string]resource.Quantity{}
	for _, one := range m.list("status", "volumeStatus") {
		text, _, _ := unstructured.NestedString(one, "persistentVolumeClaimInfo", "capacity", "storage")
		if quantity, err := resource.ParseQuantity(text); err == nil {
			sizes[fmt.Sprint(one["name"])] = quantity
		}
	}
	for _, one := range m.list("spec", "domain", "devices", "disks") {
		if size, found := sizes[fmt.Sprint(one["name"])]; found {
			return size
		}
	}
	return resource.Quantity{}
}

// list returns the objects of a list in the VMI.
func (m *Machine) list(path ...string) []map[string]any {
	list, _, _ := unstructured.NestedSlice(m.VMI.Object, path...)
	objects := []map[string]any{}
	for _, one := range list {
		if object, ok := one.(map[string]any); ok {
			objects = append(objects, object)
		}
	}
	return objects
}

// Path returns the path on this computer of a file of the machine.
func (m *Machine) Path(path string) string {
	return filepath.Join(m.Root, filepath.Clean("/"+path))
}

// ReadFile reads a file of the machine. Errors contain its path inside the machine.
func (m *Machine) ReadFile(path string) ([]byte, error) {
	data, err := os.ReadFile(m.Path(path))
	var failed *os.PathError
	if errors.As(err, &failed) {
		failed.Path = path
	}
	return data, err
}

// WriteFile writes or extends a file of the machine, and creates its folder.
func (m *Machine) WriteFile(path string, data []byte, mode os.FileMode, extend bool) error {
	if !filepath.IsAbs(path) {
		return errors.New("path is not absolute")
	}
	path = m.Path(path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	flags := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if extend {
		flags = os.O_CREATE | os.O_WRONLY | os.O_APPEND
	}
	out, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return err
	}
	_, err = out.Write(data)
	// The sandbox has to be able to read and replace the file, whatever its mode.
	return errors.Join(err, out.Chmod(mode|0o600), out.Close())
}

// Exists reports whether the machine has a file or folder.
func (m *Machine) Exists(path string) bool {
	_, err := os.Stat(m.Path(path))
	return err == nil
}

// EachFile calls visit for every file of the machine below a folder.
func (m *Machine) EachFile(folder string, visit func(path string, data []byte)) {
	entries, _ := os.ReadDir(m.Path(folder))
	for _, entry := range entries {
		path := strings.TrimSuffix(folder, "/") + "/" + entry.Name()
		if entry.IsDir() {
			m.EachFile(path, visit)
		} else if data, err := m.ReadFile(path); err == nil {
			visit(path, data)
		}
	}
}
