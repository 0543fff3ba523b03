package simulator

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestAMachineMigratesOnlyWithSharedDisksAndANetworkThatAllowsIt(t *testing.T) {
	vmi := func(binding, mode string, annotations map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"annotations": annotations},
			"spec": map[string]any{
				"networks": []any{map[string]any{"name": "default", "pod": map[string]any{}}},
				"domain": map[string]any{"devices": map[string]any{
					"interfaces": []any{map[string]any{"name": "default", binding: map[string]any{}}},
				}},
			},
			"status": map[string]any{"volumeStatus": []any{
				map[string]any{"name": "cloudinitdisk"},
				map[string]any{"name": "root-disk", "persistentVolumeClaimInfo": map[string]any{"accessModes": []any{mode}}},
			}},
		}}
	}
	allowed := map[string]any{bridgeMigrates: "true"}
	for _, one := range []struct {
		vmi    *unstructured.Unstructured
		isReal bool
		reason any
	}{
		{vmi("bridge", "ReadWriteMany", allowed), false, nil},
		{vmi("masquerade", "ReadWriteMany", nil), false, nil},
		{vmi("bridge", "ReadWriteMany", nil), false, "InterfaceNotLiveMigratable"},
		{vmi("bridge", "ReadWriteOnce", allowed), false, "DisksNotLiveMigratable"},
		{vmi("bridge", "ReadWriteMany", allowed), true, "SandboxNotLiveMigratable"},
	} {
		condition := migratable(one.vmi, one.isReal)
		if condition["reason"] != one.reason || (condition["status"] == "True") != (one.reason == nil) {
			t.Errorf("%v: wanted reason %v", condition, one.reason)
		}
	}
}
