package sidecar

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kvshoot.io/sandbox/kubernetes/csi/cluster"
)

// end removes the finalizers of a deleted snapshot once its content is deleted or retained.
func (c *snapshotController) end(ctx context.Context, one *cluster.Snapshot) error {
	found, err := c.theirs(ctx, one)
	if err != nil {
		return err
	}
	if found != nil {
		if err := c.unused(ctx, one); err != nil {
			c.Event(ctx, c.name, "VolumeSnapshot", &one.ObjectMeta, "Warning", "SnapshotDeletePending", err.Error())
			return err
		}
		if _, marked := found.Annotations[cluster.BeingDeleted]; !marked {
			change := map[string]any{"metadata": map[string]any{"annotations": map[string]any{cluster.BeingDeleted: "yes"}}}
			if err := c.Patch(ctx, cluster.SnapshotContents, "", found.Name, change); err != nil {
				return err
			}
		}
		if found.Spec.Policy == "Delete" {
			if found.DeletionTimestamp == nil {
				return c.Resource(cluster.SnapshotContents).Delete(ctx, found.Name, metav1.DeleteOptions{})
			}
			// Its deletion triggers another call for the snapshot.
			return nil
		}
	}
	if err := c.release(ctx, one); err != nil {
		return err
	}
	kept := slices.DeleteFunc(slices.Clone(one.Finalizers), func(it string) bool { return slices.Contains(snapshotFinalizers, it) })
	if len(kept) == len(one.Finalizers) {
		return nil
	}
	return c.SetFinalizers(ctx, cluster.Snapshots, &one.ObjectMeta, kept, nil)
}

// theirs returns the content of a snapshot, or nil if it has none or the content belongs to another
// snapshot.
func (c *snapshotController) theirs(ctx context.Context, one *cluster.Snapshot) (*cluster.SnapshotContent, error) {
	name := one.Status.Content
	switch {
	case name != "":
	case one.Spec.Source.Content != "":
		name = one.Spec.Source.Content
	default:
		name = "snapcontent-" + string(one.UID)
	}
	found, err := cluster.Get[cluster.SnapshotContent](ctx, c.Cluster, cluster.SnapshotContents, "", name)
	if apierrors.IsNotFound(err) || err == nil && found.Spec.Ref.UID != one.UID {
		return nil, nil
	}
	return found, err
}

// unused returns an error while a claim waits to be restored from the snapshot.
func (c *snapshotController) unused(ctx context.Context, one *cluster.Snapshot) error {
	list, err := c.Resource(cluster.Claims).Namespace(one.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		claim, err := cluster.Decode[v1.PersistentVolumeClaim](&list.Items[i])
		if err != nil {
			return err
		}
		from := claim.Spec.DataSource
		if claim.Status.Phase == v1.ClaimPending && from != nil && from.Kind == "VolumeSnapshot" && from.Name == one.Name {
			return fmt.Errorf("Snapshot is being used to restore a PVC: %s", claim.Name)
		}
	}
	return nil
}

// release removes the finalizer of the source claim, unless another snapshot of it is being
// created.
func (c *snapshotController) release(ctx context.Context, one *cluster.Snapshot) error {
	name := one.Spec.Source.Claim
	if name == "" {
		return nil
	}
	claim, err := cluster.Get[v1.PersistentVolumeClaim](ctx, c.Cluster, cluster.Claims, one.Namespace, name)
	if err != nil {
		return cluster.IgnoreNotFound(err)
	}
	if !slices.Contains(claim.Finalizers, sourceFinalizer) {
		return nil
	}
	for _, item := range c.snapshots.GetStore().List() {
		other, err := cluster.Decode[cluster.Snapshot](item.(*unstructured.Unstructured))
		if err != nil {
			return err
		}
		if other.UID != one.UID && other.Namespace == one.Namespace && other.Spec.Source.Claim == name && !other.Status.Ready && other.DeletionTimestamp == nil {
			return nil
		}
	}
	return c.SetFinalizers(ctx, cluster.Claims, &claim.ObjectMeta, without(claim.Finalizers, sourceFinalizer), nil)
}
