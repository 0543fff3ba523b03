// Package machinetest creates machines for tests.
package machinetest

import (
	"context"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kvshoot.io/sandbox/kubernetes/faults"
	"kvshoot.io/sandbox/kubernetes/guest/machine"
)

// New returns a machine with files, and without a cluster around it.
func New(t *testing.T, files map[string]string) *machine.Machine {
	t.Helper()
	console, err := os.CreateTemp(t.TempDir(), "console")
	if err != nil {
		t.Fatal(err)
	}
	m := machine.New(context.Background(), machine.Config{
		Root: t.TempDir(), Console: console, Faults: &faults.Faults{}, Network: &machine.Network{},
		VMI: &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": "m"},
			"spec": map[string]any{"domain": map[string]any{
				"cpu": map[string]any{"cores": int64(2), "sockets": int64(2)}, "memory": map[string]any{"guest": "4Gi"},
			}},
		}},
	})
	for path, content := range files {
		if err := m.WriteFile(path, []byte(content), 0o644, false); err != nil {
			t.Fatal(err)
		}
	}
	return m
}
