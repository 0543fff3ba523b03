package storage

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Machines attach volumes to machines that run.
type Machines interface {
	Attach(vmi *unstructured.Unstructured, volume string) error
	Detach(vmi *unstructured.Unstructured, volume string) error
}

// Hotplug does virt-handler's part of attaching volumes to a running VMI and detaching them:
// virt-controller waits for it between the start and the end of the attachment pod. It changes
// the status, and reports whether there was a change.
func Hotplug(vmi *unstructured.Unstructured, status map[string]any, machines Machines) (bool, error) {
	wanted := map[any]bool{}
	volumes, _, _ := unstructured.NestedSlice(vmi.Object, "spec", "volumes")
	for _, item := range volumes {
		if one, ok := item.(map[string]any); ok {
			wanted[one["name"]] = true
		}
	}
	list, _, _ := unstructured.NestedSlice(status, "volumeStatus")
	changed := false
	var failed error
	for i, item := range list {
		one, _ := item.(map[string]any)
		pod, hot, _ := unstructured.NestedString(one, "hotplugVolume", "attachPodUID")
		name := fmt.Sprint(one["name"])
		switch phase := one["phase"]; {
		case !hot:
		case wanted[one["name"]] && phase == "AttachedToNode" && pod != "":
			if err := machines.Attach(vmi, name); err != nil {
				failed = errors.Join(failed, fmt.Errorf("attach volume %s: %w", name, err))
				continue
			}
			one["phase"], one["target"] = "Ready", fmt.Sprintf("sd%c", 'a'+i%26)
			one["reason"], one["message"] = "VolumeReady", fmt.Sprintf("Successfully attach hotplugged volume %v to VM", one["name"])
			changed = true
		case wanted[one["name"]] && phase == "Ready":
			// The machine may have been switched off since.
			if err := machines.Attach(vmi, name); err != nil {
				failed = errors.Join(failed, fmt.Errorf("attach volume %s: %w", name, err))
			}
		case !wanted[one["name"]] && (phase == "Ready" || phase == "MountedToPod"):
			if err := machines.Detach(vmi, name); err != nil {
				failed = errors.Join(failed, fmt.Errorf("detach volume %s: %w", name, err))
				continue
			}
			one["phase"], one["target"] = "UnMountedFromPod", ""
			one["reason"], one["message"] = "VolumeUnMountedFromPod", fmt.Sprintf("Volume %v has been unmounted from virt-launcher pod", one["name"])
			changed = true
		}
	}
	status["volumeStatus"] = list
	return changed, failed
}
