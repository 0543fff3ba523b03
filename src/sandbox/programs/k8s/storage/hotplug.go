package storage

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Hotplug does virt-handler's part of attaching volumes to a running VMI and detaching them:
// virt-controller waits for it between the start and the end of the attachment pod. It changes
// the status, and reports whether there was a change.
func Hotplug(vmi *unstructured.Unstructured, status map[string]any) bool {
	wanted := map[any]bool{}
	volumes, _, _ := unstructured.NestedSlice(vmi.Object, "spec", "volumes")
	for _, item := range volumes {
		if one, ok := item.(map[string]any); ok {
			wanted[one["name"]] = true
		}
	}
	list, _, _ := unstructured.NestedSlice(status, "volumeStatus")
	changed := false
	for i, item := range list {
		one, _ := item.(map[string]any)
		pod, hot, _ := unstructured.NestedString(one, "hotplugVolume", "attachPodUID")
		switch phase := one["phase"]; {
		case !hot:
		case wanted[one["name"]] && phase == "AttachedToNode" && pod != "":
			one["phase"], one["target"] = "Ready", fmt.Sprintf("sd%c", 'a'+i%26)
			one["reason"], one["message"] = "VolumeReady", fmt.Sprintf("Successfully attach hotplugged volume %v to VM", one["name"])
			changed = true
		case !wanted[one["name"]] && (phase == "Ready" || phase == "MountedToPod"):
			one["phase"], one["target"] = "UnMountedFromPod", ""
			one["reason"], one["message"] = "VolumeUnMountedFromPod", fmt.Sprintf("Volume %v has been unmounted from virt-launcher pod", one["name"])
			changed = true
		}
	}
	status["volumeStatus"] = list
	return changed
}
