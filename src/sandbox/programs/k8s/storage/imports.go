package storage

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kvshoot.io/sandbox/kubernetes/faults"
)

var dataVolumes = schema.GroupVersionResource{Group: "cdi.kubevirt.io", Version: "v1beta1", Resource: "datavolumes"}

const (
	poll = 100 * time.Millisecond
	// Interval between restarts of a failing importer; CDI backs off for longer.
	importerRestart = 2 * time.Second
	notFound        = "Unable to connect to http data source: expected status code 200, got 404. Status: 404 Not Found"
)

// reconcileDataVolume does the work of CDI: it creates a claim of the DataVolume's name, and
// then an import or a clone takes its time.
func (c *Controller) reconcileDataVolume(ctx context.Context, dv *unstructured.Unstructured) (time.Duration, error) {
	phase, _, _ := unstructured.NestedString(dv.Object, "status", "phase")
	if dv.GetDeletionTimestamp() != nil || phase == "Succeeded" {
		c.imports.Delete(dv.GetUID())
		return 0, nil
	}
	outcome, delay := faults.FromAnnotations(dv.GetAnnotations())
	if outcome == "hang" {
		return 0, nil
	}
	if wait := delay - time.Since(dv.GetCreationTimestamp().Time); wait > 0 {
		return wait, nil
	}
	if outcome == "fail" {
		return 0, c.writeStatus(ctx, dv, progress{phase: "Failed", amount: "N/A"})
	}
	if wait, err := c.checkSource(ctx, dv); wait > 0 || err != nil {
		return wait, err
	}
	claim, err := c.targetClaim(ctx, dv)
	if apierrors.IsForbidden(err) {
		return importerRestart, c.writeStatus(ctx, dv, progress{phase: "Pending", boundReason: "ErrExceededQuota", boundMessage: err.Error()})
	}
	if err != nil {
		return 0, err
	}
	if !metav1.IsControlledBy(claim, dv) {
		return importerRestart, c.writeStatus(ctx, dv, progress{phase: "Pending", boundReason: "ErrClaimLost", boundMessage: fmt.Sprintf("PVC %s is not owned by this DataVolume", claim.Name)})
	}
	if claim.Status.Phase != v1.ClaimBound {
		return c.waitForVolume(ctx, dv, claim)
	}
	return c.advance(ctx, dv)
}

// checkSource makes a clone wait until its source exists and is complete.
func (c *Controller) checkSource(ctx context.Context, dv *unstructured.Unstructured) (time.Duration, error) {
	if name, namespace := sourceOf(dv, "snapshot"); name != "" {
		return c.checkSnapshot(ctx, dv, namespace, name)
	}
	name, namespace := sourceOf(dv, "pvc")
	if name == "" {
		return 0, nil
	}
	object, found, err := c.claims.GetByKey(namespace + "/" + name)
	if err != nil {
		return 0, err
	}
	if !found {
		return 5 * poll, c.writeStatus(ctx, dv, progress{
			phase: "Pending", runningReason: "CloneWithoutSource", runningMessage: fmt.Sprintf("The source pvc %s doesn't exist", name),
		})
	}
	owner := metav1.GetControllerOf(object.(*v1.PersistentVolumeClaim))
	if owner == nil || owner.Kind != "DataVolume" {
		return 0, nil
	}
	object, found, err = c.dataVolumes.GetByKey(namespace + "/" + owner.Name)
	if err != nil || !found {
		return 0, err
	}
	if phase, _, _ := unstructured.NestedString(object.(*unstructured.Unstructured).Object, "status", "phase"); phase == "Succeeded" {
		return 0, nil
	}
	return 2 * poll, c.writeStatus(ctx, dv, progress{phase: "CloneScheduled", runningReason: "CloneSourceInUse", runningMessage: fmt.Sprintf("pvc %s is being populated", name)})
}

// checkSnapshot makes a restore wait until its snapshot is ready.
func (c *Controller) checkSnapshot(ctx context.Context, dv *unstructured.Unstructured, namespace, name string) (time.Duration, error) {
	next := progress{phase: "CloneScheduled", runningReason: "SnapshotNotReady", runningMessage: fmt.Sprintf("snapshot %s is not ready to use", name)}
	found, ready := c.restorable(namespace, name)
	if !found {
		next = progress{phase: "Pending", runningReason: "CloneWithoutSource", runningMessage: fmt.Sprintf("The source snapshot %s doesn't exist", name)}
	}
	if ready {
		return 0, nil
	}
	return 2 * poll, c.writeStatus(ctx, dv, next)
}

// sourceOf returns the claim or the snapshot that a DataVolume is cloned from.
func sourceOf(dv *unstructured.Unstructured, kind string) (name, namespace string) {
	name, _, _ = unstructured.NestedString(dv.Object, "spec", "source", kind, "name")
	namespace, _, _ = unstructured.NestedString(dv.Object, "spec", "source", kind, "namespace")
	if namespace == "" {
		namespace = dv.GetNamespace()
	}
	return name, namespace
}

// advance reports the progress of a bound DataVolume by the time that has passed.
func (c *Controller) advance(ctx context.Context, dv *unstructured.Unstructured) (time.Duration, error) {
	now := time.Now()
	stored, _ := c.imports.LoadOrStore(dv.GetUID(), now)
	since := now.Sub(stored.(time.Time))
	clone, _ := sourceOf(dv, "pvc")
	restore, _ := sourceOf(dv, "snapshot")
	if clone != "" || restore != "" {
		if since < poll {
			return poll - since + time.Millisecond, c.writeStatus(ctx, dv, progress{phase: "CloneInProgress", amount: "N/A", bound: true, running: true, runningReason: "Pod is running"})
		}
		return 0, c.succeed(ctx, dv)
	}
	_, http, _ := unstructured.NestedMap(dv.Object, "spec", "source", "http")
	switch {
	case http && c.Faults.Has("import-404"):
		restarts := int64(since / importerRestart)
		return importerRestart / 2, c.writeStatus(ctx, dv, progress{
			phase: "ImportInProgress", amount: "N/A", bound: true, restarts: restarts, runningReason: "Error", runningMessage: notFound,
		})
	case http && c.Faults.Has("import-stuck"):
		return 5 * poll, c.writeStatus(ctx, dv, progress{phase: "ImportInProgress", amount: "12.00%", bound: true, running: true, runningReason: "Pod is running"})
	case restarted(dv):
		// The fault was cleared: the next importer starts from the beginning.
		c.imports.Store(dv.GetUID(), now)
		return poll, c.writeStatus(ctx, dv, progress{phase: "ImportInProgress", amount: "0.00%", bound: true, running: true, runningReason: "Pod is running"})
	case since < c.ImportTime/10:
		return c.ImportTime/10 - since + time.Millisecond, c.writeStatus(ctx, dv, progress{phase: "ImportScheduled", amount: "N/A", bound: true, runningReason: "ContainerCreating"})
	case since < c.ImportTime:
		step := c.ImportTime / 5
		amount := fmt.Sprintf("%.2f%%", float64(since/step)*20+3.25)
		return step - since%step + time.Millisecond, c.writeStatus(ctx, dv, progress{phase: "ImportInProgress", amount: amount, bound: true, running: true, runningReason: "Pod is running"})
	}
	return 0, c.succeed(ctx, dv)
}

// restarted reports whether the status is that of an importer that failed or hung.
func restarted(dv *unstructured.Unstructured) bool {
	amount, _, _ := unstructured.NestedString(dv.Object, "status", "progress")
	reason := condition(dv, "Running")["reason"]
	return amount == "12.00%" || reason == "Error"
}

func (c *Controller) succeed(ctx context.Context, dv *unstructured.Unstructured) error {
	return c.writeStatus(ctx, dv, progress{phase: "Succeeded", amount: "100.0%", bound: true, ready: true, runningReason: "Completed", runningMessage: "Import Complete"})
}
