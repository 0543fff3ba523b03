package sidecar

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"kvshoot.io/sandbox/kubernetes/csi/cluster"
)

// resizer expands the volumes of claims that request more.
type resizer struct {
	*sidecar
	controller csi.ControllerClient
	volumes    cache.SharedIndexInformer
}

// Resizer runs the program csi-resizer.
func Resizer(ctx context.Context, args []string) error {
	o := common("workers", 10*time.Second, "AnnotateFsResize", "RecoverVolumeExpansionFailure", "VolumeAttributesClass", "ReleaseLeaderElectionOnExit")
	inUse := o.set.Bool("handle-volume-inuse-error", true, "watch pods, for drivers that cannot grow what is used")
	o.set.Bool("extra-modify-metadata", false, "without effect")
	s, err := begin(ctx, o, args)
	if err != nil {
		return err
	}
	r := &resizer{sidecar: s, controller: csi.NewControllerClient(s.calls)}
	r.volumes = r.Follow(cluster.Volumes)
	claims := r.Follow(cluster.Claims)
	if *inUse {
		r.Follow(cluster.Kind("", "v1", "pods"))
	}
	if err := r.Start(ctx); err != nil {
		return err
	}
	cluster.Reconcile(ctx, claims, o.pace, r.claim)
	<-ctx.Done()
	return nil
}

func (r *resizer) claim(ctx context.Context, claim *v1.PersistentVolumeClaim) error {
	wanted, has := claim.Spec.Resources.Requests.Storage(), claim.Status.Capacity.Storage()
	if claim.Status.Phase != v1.ClaimBound || wanted.Cmp(*has) <= 0 {
		return nil
	}
	volume, err := cluster.Find[v1.PersistentVolume](r.volumes, claim.Spec.VolumeName)
	if err != nil || volume == nil || volume.Spec.CSI == nil || volume.Spec.CSI.Driver != r.driver {
		return err
	}
	if volume.Spec.Capacity.Storage().Cmp(*wanted) >= 0 {
		// Only the node's part is left to do.
		return nil
	}
	from := "external-resizer " + r.driver
	r.Event(ctx, from, "PersistentVolumeClaim", &claim.ObjectMeta, "Normal", "Resizing", "External resizer is resizing volume "+volume.Name)
	if !slices.ContainsFunc(claim.Status.Conditions, resizing) {
		if err := r.writeStatus(ctx, claim, v1.PersistentVolumeClaimResizing, "", nil); err != nil {
			return err
		}
	}
	call, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	answer, err := r.controller.ControllerExpandVolume(call, &csi.ControllerExpandVolumeRequest{
		VolumeId: volume.Spec.CSI.VolumeHandle, CapacityRange: &csi.CapacityRange{RequiredBytes: wanted.Value()},
		VolumeCapability: capability(v1.ReadWriteOnce, volume.Spec.VolumeMode, volume.Spec.CSI.FSType),
	})
	if err != nil {
		message := fmt.Sprintf("resize volume %q by resizer %q failed: %v", volume.Name, r.driver, err)
		r.Event(ctx, from, "PersistentVolumeClaim", &claim.ObjectMeta, "Warning", "VolumeResizeFailed", message)
		return err
	}
	size := resource.NewQuantity(answer.CapacityBytes, resource.BinarySI).String()
	capacity := map[string]any{"storage": size}
	if err := r.Patch(ctx, cluster.Volumes, "", volume.Name, map[string]any{"spec": map[string]any{"capacity": capacity}}); err != nil {
		return err
	}
	if !answer.NodeExpansionRequired {
		return r.writeStatus(ctx, claim, "", "", capacity)
	}
	message := "waiting for user to (re-)start a pod to finish file system resize of volume on node."
	return r.writeStatus(ctx, claim, v1.PersistentVolumeClaimFileSystemResizePending, message, nil)
}

func resizing(one v1.PersistentVolumeClaimCondition) bool {
	return one.Type == v1.PersistentVolumeClaimResizing
}

// writeStatus writes the progress of a claim: a condition, or none and the new size.
func (r *resizer) writeStatus(ctx context.Context, claim *v1.PersistentVolumeClaim, kind v1.PersistentVolumeClaimConditionType, message string, capacity map[string]any) error {
	conditions := []map[string]any{}
	if kind != "" {
		conditions = append(conditions, map[string]any{
			"type": string(kind), "status": "True", "message": message, "lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339),
		})
	}
	status := map[string]any{"conditions": conditions}
	if capacity != nil {
		status["capacity"] = capacity
	}
	return r.Patch(ctx, cluster.Claims, claim.Namespace, claim.Name, map[string]any{"status": status}, "status")
}
