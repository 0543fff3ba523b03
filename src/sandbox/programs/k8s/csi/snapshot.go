package main

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
)

const snapshotGroup = "snapshot.storage.kubernetes.io/"

const (
	// On a content while the driver is asked for its snapshot, and once its VolumeSnapshot is deleted.
	beingCreated     = snapshotGroup + "volumesnapshot-being-created"
	beingDeleted     = snapshotGroup + "volumesnapshot-being-deleted"
	contentFinalizer = snapshotGroup + "volumesnapshotcontent-bound-protection"
)

// snapshot is a VolumeSnapshot, as far as anybody here reads it.
type snapshot struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Source struct {
			Claim   string `json:"persistentVolumeClaimName"`
			Content string `json:"volumeSnapshotContentName"`
		} `json:"source"`
		Class string `json:"volumeSnapshotClassName"`
	} `json:"spec"`
	Status struct {
		Content string             `json:"boundVolumeSnapshotContentName"`
		Ready   bool               `json:"readyToUse"`
		Size    *resource.Quantity `json:"restoreSize"`
		Error   *snapshotError     `json:"error"`
	} `json:"status"`
}

// content is a VolumeSnapshotContent: to a snapshot what a volume is to a claim.
type content struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Driver string `json:"driver"`
		Policy string `json:"deletionPolicy"`
		Class  string `json:"volumeSnapshotClassName"`
		// Of the volume that it is made of.
		Mode   v1.PersistentVolumeMode `json:"sourceVolumeMode"`
		Source struct {
			Volume   string `json:"volumeHandle"`
			Snapshot string `json:"snapshotHandle"`
		} `json:"source"`
		Ref v1.ObjectReference `json:"volumeSnapshotRef"`
	} `json:"spec"`
	Status struct {
		Handle  string         `json:"snapshotHandle"`
		Created int64          `json:"creationTime"`
		Ready   bool           `json:"readyToUse"`
		Size    int64          `json:"restoreSize"`
		Error   *snapshotError `json:"error"`
	} `json:"status"`
}

type snapshotClass struct {
	metav1.ObjectMeta `json:"metadata"`
	Driver            string            `json:"driver"`
	Policy            string            `json:"deletionPolicy"`
	Parameters        map[string]string `json:"parameters"`
}

type snapshotError struct {
	Message string `json:"message"`
	Time    string `json:"time"`
}

// failed writes what went wrong into a status, and an event; once only: each time would be a
// change, and a change is looked at without delay.
func (s *sidecar) failed(ctx context.Context, kind schema.GroupVersionResource, object *metav1.ObjectMeta, told *snapshotError, reason, message string) {
	if told != nil && told.Message == message {
		return
	}
	status := map[string]any{"readyToUse": false, "error": map[string]any{"message": message, "time": metav1.Now().UTC().Format(time.RFC3339)}}
	if err := s.patch(ctx, kind, object.Namespace, object.Name, map[string]any{"status": status}, "status"); err != nil {
		klog.ErrorS(err, "cannot tell the error", "kind", kind.Resource, "name", object.Name)
		return
	}
	name := "VolumeSnapshot"
	if kind == contents {
		name = "VolumeSnapshotContent"
	}
	s.event(ctx, s.name, name, object, "Warning", reason, message)
}

// defined waits for the definitions of snapshots; without them the program ends.
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
