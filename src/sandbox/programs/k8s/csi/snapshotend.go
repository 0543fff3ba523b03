package main

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// end lets a deleted snapshot go once its content is gone, or is to stay.
func (c *snapshotController) end(ctx context.Context, one *snapshot) error {
	found, err := c.theirs(ctx, one)
	if err != nil {
		return err
	}
	if found != nil {
		if err := c.unused(ctx, one); err != nil {
			c.event(ctx, c.name, "VolumeSnapshot", &one.ObjectMeta, "Warning", "SnapshotDeletePending", err.Error())
			return err
		}
		if _, marked := found.Annotations[beingDeleted]; !marked {
			change := map[string]any{"metadata": map[string]any{"annotations": map[string]any{beingDeleted: "yes"}}}
			if err := c.patch(ctx, contents, "", found.Name, change); err != nil {
				return err
			}
		}
		if found.Spec.Policy == "Delete" {
			if found.DeletionTimestamp == nil {
				return c.Resource(contents).Delete(ctx, found.Name, metav1.DeleteOptions{})
			}
			// Its end brings the snapshot here again.
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
	return c.finalizers(ctx, snapshots, &one.ObjectMeta, kept, nil)
}

// theirs is the content of a snapshot, as it is now; nil when there is none, or it is another's.
func (c *snapshotController) theirs(ctx context.Context, one *snapshot) (*content, error) {
	name := one.Status.Content
	switch {
	case name != "":
	case one.Spec.Source.Content != "":
		name = one.Spec.Source.Content
	default:
		name = "snapcontent-" + string(one.UID)
	}
	found, err := get[content](ctx, c.cluster, contents, "", name)
	if apierrors.IsNotFound(err) || err == nil && found.Spec.Ref.UID != one.UID {
		return nil, nil
	}
	return found, err
}

// unused says no while a claim waits for a volume that begins with the snapshot.
func (c *snapshotController) unused(ctx context.Context, one *snapshot) error {
	list, err := c.Resource(claims).Namespace(one.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		claim, err := decode[v1.PersistentVolumeClaim](&list.Items[i])
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

// release lets the claim go that a snapshot was made of, unless another one is still made of it.
func (c *snapshotController) release(ctx context.Context, one *snapshot) error {
	name := one.Spec.Source.Claim
	if name == "" {
		return nil
	}
	claim, err := get[v1.PersistentVolumeClaim](ctx, c.cluster, claims, one.Namespace, name)
	if err != nil {
		return ignoreMissing(err)
	}
	if !slices.Contains(claim.Finalizers, sourceFinalizer) {
		return nil
	}
	for _, item := range c.snapshots.GetStore().List() {
		other, err := decode[snapshot](item.(*unstructured.Unstructured))
		if err != nil {
			return err
		}
		if other.UID != one.UID && other.Namespace == one.Namespace && other.Spec.Source.Claim == name && !other.Status.Ready && other.DeletionTimestamp == nil {
			return nil
		}
	}
	return c.finalizers(ctx, claims, &claim.ObjectMeta, without(claim.Finalizers, sourceFinalizer), nil)
}
