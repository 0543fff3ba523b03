package sidecar

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"kvshoot.io/sandbox/kubernetes/csi/cluster"
)

const (
	// Finalizer of a claim while a snapshot of it is created.
	sourceFinalizer  = cluster.SnapshotGroup + "pvc-as-source-protection"
	defaultSnapClass = cluster.SnapshotGroup + "is-default-class"
)

// Finalizers of snapshots: while volumes may be restored from them, and while they have a content.
var snapshotFinalizers = []string{cluster.SnapshotGroup + "volumesnapshot-as-source-protection", cluster.SnapshotGroup + "volumesnapshot-bound-protection"}

// snapshotController creates the content of each snapshot, which csi-snapshotter processes, and
// copies its result to the snapshot. It has no driver.
type snapshotController struct {
	*sidecar
	contents, classes, snapshots cache.SharedIndexInformer
}

// SnapshotController runs the program snapshot-controller.
func SnapshotController(ctx context.Context, args []string) error {
	o := alone("worker-threads")
	patience := o.set.Duration("retry-crd-interval-max", 30*time.Second, "how long the definitions are waited for")
	o.set.Duration("resync-period", 15*time.Minute, "how often everything is looked at again")
	o.set.Bool("prevent-volume-mode-conversion", true, "without effect: the mode is always told")
	o.set.BoolFunc("enable-distributed-snapshotting", "not in this stand-in", func(value string) error {
		if value != "false" {
			return errors.New("this stand-in has no --enable-distributed-snapshotting")
		}
		return nil
	})
	s, err := begin(ctx, o, args)
	if err != nil {
		return err
	}
	if err := s.defined(ctx, *patience, cluster.Snapshots, cluster.SnapshotClasses, cluster.SnapshotContents); err != nil {
		return err
	}
	c := &snapshotController{sidecar: s, contents: s.Follow(cluster.SnapshotContents), classes: s.Follow(cluster.SnapshotClasses), snapshots: s.Follow(cluster.Snapshots)}
	if err := s.Start(ctx); err != nil {
		return err
	}
	again := cluster.Reconcile(ctx, c.snapshots, o.pace, c.snapshot)
	changed := func(object any) {
		if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		if one, err := cluster.Decode[cluster.SnapshotContent](object.(*unstructured.Unstructured)); err == nil {
			again(one.Spec.Ref.Namespace + "/" + one.Spec.Ref.Name)
		}
	}
	_, err = c.contents.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: changed, UpdateFunc: func(_, object any) { changed(object) }, DeleteFunc: changed,
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// snapshot does the next step for a snapshot. What it writes triggers the one after it.
func (c *snapshotController) snapshot(ctx context.Context, one *cluster.Snapshot) error {
	if one.DeletionTimestamp != nil {
		return c.end(ctx, one)
	}
	if missing := slices.DeleteFunc(slices.Clone(snapshotFinalizers), func(it string) bool { return slices.Contains(one.Finalizers, it) }); len(missing) > 0 {
		return c.SetFinalizers(ctx, cluster.Snapshots, &one.ObjectMeta, append(one.Finalizers, missing...), nil)
	}
	step := c.made
	switch {
	case one.Status.Content != "":
		step = c.known
	case one.Spec.Source.Content != "":
		step = c.prebound
	}
	content, err := step(ctx, one)
	if err != nil {
		c.failed(ctx, cluster.Snapshots, &one.ObjectMeta, one.Status.Error, "SnapshotContentCreationFailed", "Failed to create snapshot content with error "+err.Error())
		return err
	}
	if content == nil || one.Status.Ready {
		return nil
	}
	if content.Status.Ready {
		if err := c.release(ctx, one); err != nil {
			return err
		}
	}
	return c.writeStatus(ctx, one, content)
}

// known returns the content that a snapshot is bound to. A lost content is not created again,
// because the volume has changed meanwhile.
func (c *snapshotController) known(_ context.Context, one *cluster.Snapshot) (*cluster.SnapshotContent, error) {
	found, err := cluster.Find[cluster.SnapshotContent](c.contents, one.Status.Content)
	if err == nil && found == nil {
		err = errors.New("VolumeSnapshotContent is missing")
	}
	return found, err
}

// prebound returns a content that was created in advance for this snapshot.
func (c *snapshotController) prebound(ctx context.Context, one *cluster.Snapshot) (*cluster.SnapshotContent, error) {
	found, err := cluster.Find[cluster.SnapshotContent](c.contents, one.Spec.Source.Content)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, errors.New("VolumeSnapshotContent is missing")
	}
	ref := found.Spec.Ref
	if ref.Namespace != one.Namespace || ref.Name != one.Name || ref.UID != "" && ref.UID != one.UID || found.Spec.Source.Snapshot == "" {
		return nil, fmt.Errorf("VolumeSnapshotContent [%s] is bound to a different snapshot", found.Name)
	}
	if ref.UID == one.UID && slices.Contains(found.Finalizers, cluster.ContentFinalizer) {
		return found, nil
	}
	list := append(without(found.Finalizers, cluster.ContentFinalizer), cluster.ContentFinalizer)
	return nil, c.Patch(ctx, cluster.SnapshotContents, "", found.Name, map[string]any{
		"metadata": map[string]any{"finalizers": list, "resourceVersion": found.ResourceVersion},
		"spec":     map[string]any{"volumeSnapshotRef": map[string]any{"uid": one.UID}},
	})
}

// made returns the content that was created for a snapshot of a claim, and creates it if needed.
func (c *snapshotController) made(ctx context.Context, one *cluster.Snapshot) (*cluster.SnapshotContent, error) {
	name := "snapcontent-" + string(one.UID)
	found, err := cluster.Find[cluster.SnapshotContent](c.contents, name)
	if err != nil || found != nil {
		return found, err
	}
	claim, err := cluster.Get[v1.PersistentVolumeClaim](ctx, c.Cluster, cluster.Claims, one.Namespace, one.Spec.Source.Claim)
	if err != nil {
		return nil, err
	}
	if claim.Status.Phase != v1.ClaimBound || claim.Spec.VolumeName == "" {
		return nil, fmt.Errorf("the PVC %s is not yet bound to a PV, will not attempt to take a snapshot", claim.Name)
	}
	volume, err := cluster.Get[v1.PersistentVolume](ctx, c.Cluster, cluster.Volumes, "", claim.Spec.VolumeName)
	if err != nil {
		return nil, err
	}
	if volume.Spec.CSI == nil {
		return nil, fmt.Errorf("volume %s is of no CSI driver", volume.Name)
	}
	class, err := c.class(ctx, one, volume.Spec.CSI.Driver)
	if err != nil || class == nil {
		return nil, err
	}
	if !slices.Contains(claim.Finalizers, sourceFinalizer) {
		if err := c.SetFinalizers(ctx, cluster.Claims, &claim.ObjectMeta, append(claim.Finalizers, sourceFinalizer), nil); err != nil {
			return nil, err
		}
	}
	mode := v1.PersistentVolumeFilesystem
	if volume.Spec.VolumeMode != nil {
		mode = *volume.Spec.VolumeMode
	}
	_, err = c.Resource(cluster.SnapshotContents).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotContent",
		"metadata": map[string]any{"name": name, "finalizers": []any{cluster.ContentFinalizer}},
		"spec": map[string]any{
			"driver": class.Driver, "deletionPolicy": class.Policy, "volumeSnapshotClassName": class.Name,
			"source": map[string]any{"volumeHandle": volume.Spec.CSI.VolumeHandle}, "sourceVolumeMode": string(mode),
			"volumeSnapshotRef": map[string]any{
				"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot", "namespace": one.Namespace, "name": one.Name,
				"uid": string(one.UID), "resourceVersion": one.ResourceVersion,
			},
		},
	}}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil, nil
	}
	if err == nil {
		message := fmt.Sprintf("Waiting for a snapshot %s/%s to be created by the CSI driver.", one.Namespace, one.Name)
		c.Event(ctx, c.name, "VolumeSnapshot", &one.ObjectMeta, "Normal", "CreatingSnapshot", message)
	}
	return nil, err
}

// class returns the snapshot's class. If it names none, the driver's default class is written into
// it first.
func (c *snapshotController) class(ctx context.Context, one *cluster.Snapshot, driver string) (*cluster.SnapshotClass, error) {
	if one.Spec.Class != "" {
		class, err := cluster.Find[cluster.SnapshotClass](c.classes, one.Spec.Class)
		if err == nil && class == nil {
			err = fmt.Errorf("failed to retrieve snapshot class %s: not found", one.Spec.Class)
		}
		return class, err
	}
	names := []string{}
	for _, item := range c.classes.GetStore().List() {
		class, err := cluster.Decode[cluster.SnapshotClass](item.(*unstructured.Unstructured))
		if err != nil {
			return nil, err
		}
		if class.Driver == driver && class.Annotations[defaultSnapClass] == "true" {
			names = append(names, class.Name)
		}
	}
	switch len(names) {
	case 0:
		return nil, errors.New("cannot find default snapshot class")
	case 1:
		return nil, c.Patch(ctx, cluster.Snapshots, one.Namespace, one.Name, map[string]any{"spec": map[string]any{"volumeSnapshotClassName": names[0]}})
	}
	return nil, fmt.Errorf("%d default snapshot classes were found", len(names))
}

// writeStatus copies the state of the content.
func (c *snapshotController) writeStatus(ctx context.Context, one *cluster.Snapshot, from *cluster.SnapshotContent) error {
	size := resource.NewQuantity(from.Status.Size, resource.BinarySI)
	if now := one.Status; now.Content == from.Name && now.Ready == from.Status.Ready && (now.Size == nil) == (from.Status.Size == 0) && same(now.Error, from.Status.Error) {
		return nil
	}
	told := map[string]any{"boundVolumeSnapshotContentName": from.Name, "readyToUse": from.Status.Ready, "error": from.Status.Error}
	if from.Status.Created != 0 {
		told["creationTime"] = time.Unix(0, from.Status.Created).UTC().Format(time.RFC3339)
	}
	if from.Status.Size != 0 {
		told["restoreSize"] = size.String()
	}
	if err := c.Patch(ctx, cluster.Snapshots, one.Namespace, one.Name, map[string]any{"status": told}, "status"); err != nil {
		return err
	}
	if from.Status.Ready && !one.Status.Ready {
		message := fmt.Sprintf("Snapshot %s/%s is ready to use.", one.Namespace, one.Name)
		c.Event(ctx, c.name, "VolumeSnapshot", &one.ObjectMeta, "Normal", "SnapshotReady", message)
	}
	return nil
}

func same(a, b *cluster.SnapshotError) bool {
	return a == b || a != nil && b != nil && a.Message == b.Message
}
