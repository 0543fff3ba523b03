// Package eviction has what the controller manager uses of the kubelet's package of this name.
package eviction

import v1 "k8s.io/api/core/v1"

// PodIsEvicted reports whether the kubelet evicted the pod.
func PodIsEvicted(status v1.PodStatus) bool {
	return status.Phase == v1.PodFailed && status.Reason == "Evicted"
}
