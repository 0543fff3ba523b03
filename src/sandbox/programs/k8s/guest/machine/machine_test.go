package machine

import (
	"context"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestAServerThatIsUnreachableForAMomentIsNotReported(t *testing.T) {
	ctx, end := context.WithCancel(context.Background())
	end()
	// A machine that has stopped creates no Events, but it still counts warnings.
	m := New(ctx, Config{VMI: &unstructured.Unstructured{Object: map[string]any{}}})
	m.Warn(Unreachable, os.ErrDeadlineExceeded)
	m.Warn("KubeletFailed", os.ErrInvalid)
	unreachable, failed := m.warned[Unreachable+os.ErrDeadlineExceeded.Error()], m.warned["KubeletFailed"+os.ErrInvalid.Error()]
	if unreachable.IsZero() || !failed.IsZero() {
		t.Errorf("%v, %v", unreachable, failed)
	}
}

func TestTheRootDiskIsTheFirstDiskNotTheFirstByName(t *testing.T) {
	status := func(name, size string) map[string]any {
		claim := map[string]any{"capacity": map[string]any{"storage": size}}
		return map[string]any{"name": name, "persistentVolumeClaimInfo": claim}
	}
	disk := func(name string) any { return map[string]any{"name": name} }
	vmi := map[string]any{
		"spec": map[string]any{"domain": map[string]any{"devices": map[string]any{
			"disks": []any{disk("cloudinitdisk"), disk("root-disk"), disk("data-disk")},
		}}},
		"status": map[string]any{"volumeStatus": []any{
			map[string]any{"name": "cloudinitdisk"}, status("data-disk", "5Gi"), status("root-disk", "20Gi"),
		}},
	}
	root := func(vmi map[string]any) string {
		size := New(context.Background(), Config{VMI: &unstructured.Unstructured{Object: vmi}}).RootDisk()
		return size.String()
	}
	if size := root(vmi); size != "20Gi" {
		t.Error(size)
	}
	if size := root(map[string]any{}); size != "0" {
		t.Error(size)
	}
}
