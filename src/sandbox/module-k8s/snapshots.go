package main

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

// snapshot plays the snapshot controller and the storage behind it: a snapshot of a bound claim
// is ready after a moment. It looks again at what cannot be made yet.
func (s *simulator) snapshot(ctx context.Context, one *unstructured.Unstructured) (time.Duration, error) {
	if one.GetDeletionTimestamp() != nil {
		return 0, s.dropSnapshot(ctx, one)
	}
	if snapshotReady(one) {
		return 0, nil
	}
	class, _, _ := unstructured.NestedString(one.Object, "spec", "volumeSnapshotClassName")
	if class == "" {
		name, err := s.defaultSnapshotClass()
		if err != nil {
			return 10 * poll, s.refuseSnapshot(ctx, one, err)
		}
		return 0, s.patchSnapshot(ctx, one, map[string]any{"spec": map[string]any{"volumeSnapshotClassName": name}})
	}
	claim, err := s.snapshotted(one, class)
	if err != nil {
		return 10 * poll, s.refuseSnapshot(ctx, one, err)
	}
	if wait := snapshotTime - time.Since(one.GetCreationTimestamp().Time); wait > 0 {
		return wait, nil
	}
	return 0, s.takeSnapshot(ctx, one, class, claim)
}

// takeSnapshot gives it a content, as CDI looks for one, and says that it is ready.
func (s *simulator) takeSnapshot(ctx context.Context, one *unstructured.Unstructured, class string, claim *v1.PersistentVolumeClaim) error {
	if !slices.Contains(one.GetFinalizers(), snapshotFinalizer) {
		return s.snapshotFinalizers(ctx, one, append(one.GetFinalizers(), snapshotFinalizer))
	}
	object, _, err := s.snapshotClasses.GetByKey(class)
	if err != nil {
		return err
	}
	size, now := claim.Status.Capacity[v1.ResourceStorage], time.Now()
	all := s.dynamic.Resource(snapshotContents)
	_, err = all.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotContent", "metadata": map[string]any{"name": contentName(one)},
		"spec": map[string]any{
			"driver": provisioner, "deletionPolicy": object.(*unstructured.Unstructured).Object["deletionPolicy"], "volumeSnapshotClassName": class,
			"source": map[string]any{"volumeHandle": claim.Spec.VolumeName},
			"volumeSnapshotRef": map[string]any{
				"apiVersion": one.GetAPIVersion(), "kind": one.GetKind(), "namespace": one.GetNamespace(), "name": one.GetName(), "uid": string(one.GetUID()),
			},
		},
	}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	body, err := json.Marshal(map[string]any{"status": map[string]any{
		"readyToUse": true, "creationTime": now.UnixNano(), "restoreSize": size.Value(), "snapshotHandle": string(one.GetUID()),
	}})
	if err != nil {
		return err
	}
	if _, err := all.Patch(ctx, contentName(one), types.MergePatchType, body, metav1.PatchOptions{}, "status"); err != nil {
		return err
	}
	return s.patchSnapshot(ctx, one, map[string]any{"status": map[string]any{
		"boundVolumeSnapshotContentName": contentName(one), "readyToUse": true, "creationTime": now.UTC().Format(time.RFC3339),
		"restoreSize": size.String(), "error": nil,
	}}, "status")
}

// dropSnapshot deletes the content of a deleted one, unless it is to be kept.
func (s *simulator) dropSnapshot(ctx context.Context, one *unstructured.Unstructured) error {
	if !slices.Contains(one.GetFinalizers(), snapshotFinalizer) {
		return nil
	}
	all := s.dynamic.Resource(snapshotContents)
	content, err := all.Get(ctx, contentName(one), metav1.GetOptions{})
	if err == nil {
		if policy, _, _ := unstructured.NestedString(content.Object, "spec", "deletionPolicy"); policy == "Delete" {
			err = all.Delete(ctx, content.GetName(), metav1.DeleteOptions{})
		}
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return s.snapshotFinalizers(ctx, one, slices.DeleteFunc(one.GetFinalizers(), func(it string) bool { return it == snapshotFinalizer }))
}

func contentName(one *unstructured.Unstructured) string {
	return "snapcontent-" + string(one.GetUID())
}

func (s *simulator) snapshotFinalizers(ctx context.Context, one *unstructured.Unstructured, list []string) error {
	return s.patchSnapshot(ctx, one, map[string]any{"metadata": map[string]any{"finalizers": list, "resourceVersion": one.GetResourceVersion()}})
}

func snapshotReady(one *unstructured.Unstructured) bool {
	ready, _, _ := unstructured.NestedBool(one.Object, "status", "readyToUse")
	return ready
}

func (s *simulator) defaultSnapshotClass() (string, error) {
	names := []string{}
	for _, object := range s.snapshotClasses.List() {
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

// snapshotted is the claim that a snapshot is made of.
func (s *simulator) snapshotted(one *unstructured.Unstructured, class string) (*v1.PersistentVolumeClaim, error) {
	object, found, err := s.snapshotClasses.GetByKey(class)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("failed to retrieve snapshot class %s: not found", class)
	}
	if driver := object.(*unstructured.Unstructured).Object["driver"]; driver != provisioner {
		return nil, fmt.Errorf("nobody makes snapshots of driver %v here", driver)
	}
	name, _, _ := unstructured.NestedString(one.Object, "spec", "source", "persistentVolumeClaimName")
	if name == "" {
		return nil, errors.New("the sandbox makes snapshots of claims only")
	}
	object, found, err = s.claims.GetByKey(one.GetNamespace() + "/" + name)
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

// refuseSnapshot writes what went wrong, if that is new.
func (s *simulator) refuseSnapshot(ctx context.Context, one *unstructured.Unstructured, problem error) error {
	message := "Failed to create snapshot content with error " + problem.Error()
	if told, _, _ := unstructured.NestedString(one.Object, "status", "error", "message"); told == message {
		return nil
	}
	return s.patchSnapshot(ctx, one, map[string]any{"status": map[string]any{
		"readyToUse": false, "error": map[string]any{"message": message, "time": metav1.Now().UTC().Format(time.RFC3339)},
	}}, "status")
}

func (s *simulator) patchSnapshot(ctx context.Context, one *unstructured.Unstructured, change map[string]any, subresources ...string) error {
	body, err := json.Marshal(change)
	if err != nil {
		return err
	}
	_, err = s.dynamic.Resource(volumeSnapshots).Namespace(one.GetNamespace()).Patch(ctx, one.GetName(), types.MergePatchType, body, metav1.PatchOptions{}, subresources...)
	return err
}

// restorable tells whether a snapshot is there, and whether it is ready.
func (s *simulator) restorable(namespace, name string) (found, ready bool) {
	object, found, err := s.snapshots.GetByKey(namespace + "/" + name)
	if err != nil || !found {
		return false, false
	}
	return true, snapshotReady(object.(*unstructured.Unstructured))
}
