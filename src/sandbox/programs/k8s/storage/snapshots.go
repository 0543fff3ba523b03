package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var (
	volumeSnapshots  = schema.GroupVersionResource{Group: "snapshot.storage.k8s.io", Version: "v1", Resource: "volumesnapshots"}
	snapshotContents = schema.GroupVersionResource{Group: "snapshot.storage.k8s.io", Version: "v1", Resource: "volumesnapshotcontents"}
	snapshotClasses  = schema.GroupVersionResource{Group: "snapshot.storage.k8s.io", Version: "v1", Resource: "volumesnapshotclasses"}
)

const (
	snapshotTime      = 3 * poll
	snapshotFinalizer = "snapshot.storage.kubernetes.io/volumesnapshot-bound-protection"
)

// reconcileSnapshot does the work of the snapshot controller and its driver: a snapshot of a
// bound claim is ready after a moment.
func (c *Controller) reconcileSnapshot(ctx context.Context, snapshot *unstructured.Unstructured) (time.Duration, error) {
	if snapshot.GetDeletionTimestamp() != nil {
		return 0, c.deleteSnapshot(ctx, snapshot)
	}
	if snapshotReady(snapshot) {
		return 0, nil
	}
	class, _, _ := unstructured.NestedString(snapshot.Object, "spec", "volumeSnapshotClassName")
	if class == "" {
		name, err := c.defaultSnapshotClass()
		if err != nil {
			return 10 * poll, c.reportError(ctx, snapshot, err)
		}
		return 0, c.patchSnapshot(ctx, snapshot, map[string]any{"spec": map[string]any{"volumeSnapshotClassName": name}})
	}
	claim, err := c.sourceClaim(snapshot, class)
	if err != nil {
		return 10 * poll, c.reportError(ctx, snapshot, err)
	}
	if wait := snapshotTime - time.Since(snapshot.GetCreationTimestamp().Time); wait > 0 {
		return wait, nil
	}
	return 0, c.takeSnapshot(ctx, snapshot, class, claim)
}

// takeSnapshot creates the content, which CDI expects, and marks the snapshot as ready.
func (c *Controller) takeSnapshot(ctx context.Context, snapshot *unstructured.Unstructured, class string, claim *v1.PersistentVolumeClaim) error {
	if !slices.Contains(snapshot.GetFinalizers(), snapshotFinalizer) {
		return c.snapshotFinalizers(ctx, snapshot, append(snapshot.GetFinalizers(), snapshotFinalizer))
	}
	object, _, err := c.snapshotClasses.GetByKey(class)
	if err != nil {
		return err
	}
	size, now := claim.Status.Capacity[v1.ResourceStorage], time.Now()
	contents := c.Dynamic.Resource(snapshotContents)
	_, err = contents.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotContent", "metadata": map[string]any{"name": contentName(snapshot)},
		"spec": map[string]any{
			"driver": provisioner, "deletionPolicy": object.(*unstructured.Unstructured).Object["deletionPolicy"], "volumeSnapshotClassName": class,
			"source": map[string]any{"volumeHandle": claim.Spec.VolumeName},
			"volumeSnapshotRef": map[string]any{
				"apiVersion": snapshot.GetAPIVersion(), "kind": snapshot.GetKind(), "namespace": snapshot.GetNamespace(), "name": snapshot.GetName(), "uid": string(snapshot.GetUID()),
			},
		},
	}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	body, err := json.Marshal(map[string]any{"status": map[string]any{
		"readyToUse": true, "creationTime": now.UnixNano(), "restoreSize": size.Value(), "snapshotHandle": string(snapshot.GetUID()),
	}})
	if err != nil {
		return err
	}
	if _, err := contents.Patch(ctx, contentName(snapshot), types.MergePatchType, body, metav1.PatchOptions{}, "status"); err != nil {
		return err
	}
	return c.patchSnapshot(ctx, snapshot, map[string]any{"status": map[string]any{
		"boundVolumeSnapshotContentName": contentName(snapshot), "readyToUse": true, "creationTime": now.UTC().Format(time.RFC3339),
		"restoreSize": size.String(), "error": nil,
	}}, "status")
}

// deleteSnapshot deletes the content of a deleted snapshot, unless its policy is Retain.
func (c *Controller) deleteSnapshot(ctx context.Context, snapshot *unstructured.Unstructured) error {
	if !slices.Contains(snapshot.GetFinalizers(), snapshotFinalizer) {
		return nil
	}
	contents := c.Dynamic.Resource(snapshotContents)
	content, err := contents.Get(ctx, contentName(snapshot), metav1.GetOptions{})
	if err == nil {
		if policy, _, _ := unstructured.NestedString(content.Object, "spec", "deletionPolicy"); policy == "Delete" {
			err = contents.Delete(ctx, content.GetName(), metav1.DeleteOptions{})
		}
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return c.snapshotFinalizers(ctx, snapshot, slices.DeleteFunc(snapshot.GetFinalizers(), func(it string) bool { return it == snapshotFinalizer }))
}

func contentName(snapshot *unstructured.Unstructured) string {
	return "snapcontent-" + string(snapshot.GetUID())
}

func (c *Controller) snapshotFinalizers(ctx context.Context, snapshot *unstructured.Unstructured, list []string) error {
	return c.patchSnapshot(ctx, snapshot, map[string]any{"metadata": map[string]any{"finalizers": list, "resourceVersion": snapshot.GetResourceVersion()}})
}

func snapshotReady(snapshot *unstructured.Unstructured) bool {
	ready, _, _ := unstructured.NestedBool(snapshot.Object, "status", "readyToUse")
	return ready
}

func (c *Controller) defaultSnapshotClass() (string, error) {
	names := []string{}
	for _, object := range c.snapshotClasses.List() {
		class := object.(*unstructured.Unstructured)
		if class.Object["driver"] == provisioner && class.GetAnnotations()["snapshot.storage.kubernetes.io/is-default-class"] == "true" {
			names = append(names, class.GetName())
		}
	}
	switch len(names) {
	case 0:
		return "", errors.New("cannot find default snapshot class")
	case 1:
		return names[0], nil
	}
	return "", fmt.Errorf("%d default snapshot classes were found", len(names))
}

// sourceClaim returns the claim that a snapshot is taken of.
func (c *Controller) sourceClaim(snapshot *unstructured.Unstructured, class string) (*v1.PersistentVolumeClaim, error) {
	object, found, err := c.snapshotClasses.GetByKey(class)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("failed to retrieve snapshot class %s: not found", class)
	}
	if driver := object.(*unstructured.Unstructured).Object["driver"]; driver != provisioner {
		return nil, fmt.Errorf("the sandbox has no snapshot driver %v", driver)
	}
	name, _, _ := unstructured.NestedString(snapshot.Object, "spec", "source", "persistentVolumeClaimName")
	if name == "" {
		return nil, errors.New("the sandbox only takes snapshots of persistentVolumeClaimName")
	}
	object, found, err = c.claims.GetByKey(snapshot.GetNamespace() + "/" + name)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("failed to retrieve PVC %s: not found", name)
	}
	claim := object.(*v1.PersistentVolumeClaim)
	if claim.Status.Phase != v1.ClaimBound {
		return nil, fmt.Errorf("the PVC %s is not yet bound to a PV, will not attempt to take a snapshot", name)
	}
	return claim, nil
}

// reportError writes an error into the status, unless it is there already.
func (c *Controller) reportError(ctx context.Context, snapshot *unstructured.Unstructured, problem error) error {
	message := "Failed to create snapshot content with error " + problem.Error()
	if next, _, _ := unstructured.NestedString(snapshot.Object, "status", "error", "message"); next == message {
		return nil
	}
	return c.patchSnapshot(ctx, snapshot, map[string]any{"status": map[string]any{
		"readyToUse": false, "error": map[string]any{"message": message, "time": metav1.Now().UTC().Format(time.RFC3339)},
	}}, "status")
}

func (c *Controller) patchSnapshot(ctx context.Context, snapshot *unstructured.Unstructured, change map[string]any, subresources ...string) error {
	body, err := json.Marshal(change)
	if err != nil {
		return err
	}
	_, err = c.Dynamic.Resource(volumeSnapshots).Namespace(snapshot.GetNamespace()).Patch(ctx, snapshot.GetName(), types.MergePatchType, body, metav1.PatchOptions{}, subresources...)
	return err
}

// restorable reports whether a snapshot exists, and whether it is ready.
func (c *Controller) restorable(namespace, name string) (found, ready bool) {
	object, found, err := c.snapshots.GetByKey(namespace + "/" + name)
	if err != nil || !found {
		return false, false
	}
	return true, snapshotReady(object.(*unstructured.Unstructured))
}
