package sidecar

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"kvshoot.io/sandbox/kubernetes/csi/cluster"
)

// failed writes an error into the status and creates an event, unless the status has it already,
// because each write triggers another attempt without back-off.
func (s *sidecar) failed(ctx context.Context, kind schema.GroupVersionResource, object *metav1.ObjectMeta, last *cluster.SnapshotError, reason, message string) {
	if last != nil && last.Message == message {
		return
	}
	status := map[string]any{"readyToUse": false, "error": map[string]any{"message": message, "time": metav1.Now().UTC().Format(time.RFC3339)}}
	if err := s.Patch(ctx, kind, object.Namespace, object.Name, map[string]any{"status": status}, "status"); err != nil {
		klog.ErrorS(err, "cannot write the error", "kind", kind.Resource, "name", object.Name)
		return
	}
	name := "VolumeSnapshot"
	if kind == cluster.SnapshotContents {
		name = "VolumeSnapshotContent"
	}
	s.Event(ctx, s.name, name, object, "Warning", reason, message)
}

// defined waits for the definitions of snapshots, and fails without them.
func (s *sidecar) defined(ctx context.Context, patience time.Duration, kinds ...schema.GroupVersionResource) error {
	end := time.Now().Add(patience)
	for _, kind := range kinds {
		for {
			_, err := s.Resource(kind).List(ctx, metav1.ListOptions{Limit: 1})
			if err == nil {
				break
			}
			klog.ErrorS(err, "cannot list", "kind", kind.Resource)
			if time.Now().After(end) {
				return fmt.Errorf("the definitions of snapshots are missing: %w", err)
			}
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}
