package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// plug plays virt-handler's part in a volume that is plugged into a running guest, or taken out
// of it: virt-controller waits for it between the attachment pod's start and its end. It changes
// the status, and tells whether there was anything to change.
func plug(vmi *unstructured.Unstructured, status map[string]any) bool {
	wanted := map[any]bool{}
	volumes, _, _ := unstructured.NestedSlice(vmi.Object, "spec", "volumes")
	for _, item := range volumes {
		if one, ok := item.(map[string]any); ok {
			wanted[one["name"]] = true
		}
	}
	list, _, _ := unstructured.NestedSlice(status, "volumeStatus")
	moved := false
	for i, item := range list {
		one, _ := item.(map[string]any)
		pod, hot, _ := unstructured.NestedString(one, "hotplugVolume", "attachPodUID")
		switch phase := one["phase"]; {
		case !hot:
		case wanted[one["name"]] && phase == "AttachedToNode" && pod != "":
			one["phase"], one["target"] = "Ready", fmt.Sprintf("sd%c", 'a'+i%26)
			one["reason"], one["message"] = "VolumeReady", fmt.Sprintf("Successfully attach hotplugged volume %v to VM", one["name"])
			moved = true
		case !wanted[one["name"]] && (phase == "Ready" || phase == "MountedToPod"):
			one["phase"], one["target"] = "UnMountedFromPod", ""
			one["reason"], one["message"] = "VolumeUnMountedFromPod", fmt.Sprintf("Volume %v has been unmounted from virt-launcher pod", one["name"])
			moved = true
		}
	}
	status["volumeStatus"] = list
	return moved
}
