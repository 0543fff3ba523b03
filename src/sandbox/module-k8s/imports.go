package main

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var dvs = schema.GroupVersionResource{Group: "cdi.kubevirt.io", Version: "v1beta1", Resource: "datavolumes"}

const (
	poll = 100 * time.Millisecond
	// How often a failing importer is started again; a real one backs off for longer.
	importerRestart = 2 * time.Second
	notFound        = "Unable to connect to http data source: expected status code 200, got 404. Status: 404 Not Found"
)

// dataVolume plays CDI: a claim of the DataVolume's name, then an import or a
// clone that takes a while. It looks again until the DataVolume has succeeded.
func (s *simulator) dataVolume(ctx context.Context, dv *unstructured.Unstructured) (time.Duration, error) {
	phase, _, _ := unstructured.NestedString(dv.Object, "status", "phase")
	if dv.GetDeletionTimestamp() != nil || phase == "Succeeded" {
		s.imports.Delete(dv.GetUID())
		return 0, nil
	}
	outcome, delay := fault(dv.GetAnnotations())
	if outcome == "hang" {
		return 0, nil
	}
	if wait := delay - time.Since(dv.GetCreationTimestamp().Time); wait > 0 {
		return wait, nil
	}
	if outcome == "fail" {
		return 0, s.tell(ctx, dv, progress{phase: "Failed", amount: "N/A"})
	}
	if wait, err := s.source(ctx, dv); wait > 0 || err != nil {
		return wait, err
	}
	claim, err := s.target(ctx, dv)
	if apierrors.IsForbidden(err) {
		return importerRestart, s.tell(ctx, dv, progress{phase: "Pending", boundReason: "ErrExceededQuota", boundMessage: err.Error()})
	}
	if err != nil {
		return 0, err
	}
	if !metav1.IsControlledBy(claim, dv) {
		return importerRestart, s.tell(ctx, dv, progress{phase: "Pending", boundReason: "ErrClaimLost", boundMessage: fmt.Sprintf("claim %s belongs to something else", claim.Name)})
	}
	if claim.Status.Phase != v1.ClaimBound {
		return s.unbound(ctx, dv, claim)
	}
	return s.fill(ctx, dv)
}

// source holds a clone back until what it copies is there and whole.
func (s *simulator) source(ctx context.Context, dv *unstructured.Unstructured) (time.Duration, error) {
	if name, namespace := sourceOf(dv, "snapshot"); name != "" {
		return s.snapshotSource(ctx, dv, namespace, name)
	}
	name, namespace := sourceOf(dv, "pvc")
	if name == "" {
		return 0, nil
	}
	object, found, err := s.claims.GetByKey(namespace + "/" + name)
	if err != nil {
		return 0, err
	}
	if !found {
		return 5 * poll, s.tell(ctx, dv, progress{
			phase: "Pending", runningReason: "CloneWithoutSource", runningMessage: fmt.Sprintf("The source pvc %s doesn't exist", name),
		})
	}
	owner := metav1.GetControllerOf(object.(*v1.PersistentVolumeClaim))
	if owner == nil || owner.Kind != "DataVolume" {
		return 0, nil
	}
	object, found, err = s.dataVolumes.GetByKey(namespace + "/" + owner.Name)
	if err != nil || !found {
		return 0, err
	}
	if phase, _, _ := unstructured.NestedString(object.(*unstructured.Unstructured).Object, "status", "phase"); phase == "Succeeded" {
		return 0, nil
	}
	return 2 * poll, s.tell(ctx, dv, progress{phase: "CloneScheduled", runningReason: "CloneSourceInUse", runningMessage: fmt.Sprintf("pvc %s is still being filled", name)})
}

// snapshotSource holds one back that is made of a snapshot until that is ready.
func (s *simulator) snapshotSource(ctx context.Context, dv *unstructured.Unstructured, namespace, name string) (time.Duration, error) {
	told := progress{phase: "CloneScheduled", runningReason: "SnapshotNotReady", runningMessage: fmt.Sprintf("snapshot %s is not ready to use", name)}
	found, ready := s.restorable(namespace, name)
	if !found {
		told = progress{phase: "Pending", runningReason: "CloneWithoutSource", runningMessage: fmt.Sprintf("The source snapshot %s doesn't exist", name)}
	}
	if ready {
		return 0, nil
	}
	return 2 * poll, s.tell(ctx, dv, told)
}

// sourceOf names the claim or the snapshot that a DataVolume is a copy of.
func sourceOf(dv *unstructured.Unstructured, kind string) (name, namespace string) {
	name, _, _ = unstructured.NestedString(dv.Object, "spec", "source", kind, "name")
	namespace, _, _ = unstructured.NestedString(dv.Object, "spec", "source", kind, "namespace")
	if namespace == "" {
		namespace = dv.GetNamespace()
	}
	return name, namespace
}

// fill moves a bound DataVolume on by the time that has passed.
func (s *simulator) fill(ctx context.Context, dv *unstructured.Unstructured) (time.Duration, error) {
	now := time.Now()
	stored, _ := s.imports.LoadOrStore(dv.GetUID(), now)
	since := now.Sub(stored.(time.Time))
	clone, _ := sourceOf(dv, "pvc")
	restore, _ := sourceOf(dv, "snapshot")
	if clone != "" || restore != "" {
		if since < poll {
			return poll - since + time.Millisecond, s.tell(ctx, dv, progress{phase: "CloneInProgress", amount: "N/A", bound: true, running: true, runningReason: "Pod is running"})
		}
		return 0, s.succeed(ctx, dv)
	}
	_, http, _ := unstructured.NestedMap(dv.Object, "spec", "source", "http")
	switch {
	case http && s.faults.has("import-404"):
		restarts := int64(since / importerRestart)
		return importerRestart / 2, s.tell(ctx, dv, progress{
			phase: "ImportInProgress", amount: "N/A", bound: true, restarts: restarts, runningReason: "Error", runningMessage: notFound,
		})
	case http && s.faults.has("import-stuck"):
		return 5 * poll, s.tell(ctx, dv, progress{phase: "ImportInProgress", amount: "12.00%", bound: true, running: true, runningReason: "Pod is running"})
	case restarted(dv):
		// The fault is gone: the next importer starts from nothing.
		s.imports.Store(dv.GetUID(), now)
		return poll, s.tell(ctx, dv, progress{phase: "ImportInProgress", amount: "0.00%", bound: true, running: true, runningReason: "Pod is running"})
	case since < s.importTime/10:
		return s.importTime/10 - since + time.Millisecond, s.tell(ctx, dv, progress{phase: "ImportScheduled", amount: "N/A", bound: true, runningReason: "ContainerCreating"})
	case since < s.importTime:
		step := s.importTime / 5
		amount := fmt.Sprintf("%.2f%%", float64(since/step)*20+3.25)
		return step - since%step + time.Millisecond, s.tell(ctx, dv, progress{phase: "ImportInProgress", amount: amount, bound: true, running: true, runningReason: "Pod is running"})
	}
	return 0, s.succeed(ctx, dv)
}

// restarted tells whether the last importer was seen to fail or to hang.
func restarted(dv *unstructured.Unstructured) bool {
	amount, _, _ := unstructured.NestedString(dv.Object, "status", "progress")
	reason := condition(dv, "Running")["reason"]
	return amount == "12.00%" || reason == "Error"
}

func (s *simulator) succeed(ctx context.Context, dv *unstructured.Unstructured) error {
	return s.tell(ctx, dv, progress{phase: "Succeeded", amount: "100.0%", bound: true, ready: true, runningReason: "Completed", runningMessage: "Import Complete"})
}
