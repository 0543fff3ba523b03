package main

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
)

const (
	// On the claim while a snapshot of it is made.
	sourceFinalizer  = snapshotGroup + "pvc-as-source-protection"
	defaultSnapClass = snapshotGroup + "is-default-class"
)

// On snapshots: while volumes may be made of them, and while they have a content.
var snapshotFinalizers = []string{snapshotGroup + "volumesnapshot-as-source-protection", snapshotGroup + "volumesnapshot-bound-protection"}

// snapshotController gives each snapshot that people ask for a content, which is the driver's
// sidecar's matter, and tells what has become of it. It has no driver itself.
type snapshotController struct {
	*sidecar
	contents, classes, snapshots cache.SharedIndexInformer
}

func snapshotControllerMain(ctx context.Context, args []string) error {
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
	if err := s.defined(ctx, *patience, snapshots, snapClasses, contents); err != nil {
		return err
	}
	c := &snapshotController{sidecar: s, contents: s.follow(contents), classes: s.follow(snapClasses), snapshots: s.follow(snapshots)}
	if err := s.start(ctx); err != nil {
		return err
	}
	again := work(ctx, c.snapshots, o.pace, c.snapshot)
	changed := func(object any) {
		if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		if one, err := decode[content](object.(*unstructured.Unstructured)); err == nil {
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

// snapshot takes one a step on; what each step writes brings it here again.
func (c *snapshotController) snapshot(ctx context.Context, one *snapshot) error {
	if one.DeletionTimestamp != nil {
		return c.end(ctx, one)
	}
	if missing := slices.DeleteFunc(slices.Clone(snapshotFinalizers), func(it string) bool { return slices.Contains(one.Finalizers, it) }); len(missing) > 0 {
		return c.finalizers(ctx, snapshots, &one.ObjectMeta, append(one.Finalizers, missing...), nil)
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
		c.failed(ctx, snapshots, &one.ObjectMeta, one.Status.Error, "SnapshotContentCreationFailed", "Failed to create snapshot content with error "+err.Error())
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
	return c.tell(ctx, one, content)
}

// known finds the content that a snapshot has; one that is lost is not made anew, as the volume is
// another by now.
func (c *snapshotController) known(_ context.Context, one *snapshot) (*content, error) {
	found, err := find[content](c.contents, one.Status.Content)
	if err == nil && found == nil {
		err = errors.New("VolumeSnapshotContent is missing")
	}
	return found, err
}

// prebound takes a content that somebody has made for this snapshot.
func (c *snapshotController) prebound(ctx context.Context, one *snapshot) (*content, error) {
	found, err := find[content](c.contents, one.Spec.Source.Content)
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
	if ref.UID == one.UID && slices.Contains(found.Finalizers, contentFinalizer) {
		return found, nil
	}
	list := append(without(found.Finalizers, contentFinalizer), contentFinalizer)
	return nil, c.patch(ctx, contents, "", found.Name, map[string]any{
		"metadata": map[string]any{"finalizers": list, "resourceVersion": found.ResourceVersion},
		"spec":     map[string]any{"volumeSnapshotRef": map[string]any{"uid": one.UID}},
	})
}

// made finds the content that was made for a snapshot of a claim, or makes it.
func (c *snapshotController) made(ctx context.Context, one *snapshot) (*content, error) {
	name := "snapcontent-" + string(one.UID)
	found, err := find[content](c.contents, name)
	if err != nil || found != nil {
		return found, err
	}
	claim, err := get[v1.PersistentVolumeClaim](ctx, c.cluster, claims, one.Namespace, one.Spec.Source.Claim)
	if err != nil {
		return nil, err
	}
	if claim.Status.Phase != v1.ClaimBound || claim.Spec.VolumeName == "" {
		return nil, fmt.Errorf("the PVC %s is not yet bound to a PV, will not attempt to take a snapshot", claim.Name)
	}
	volume, err := get[v1.PersistentVolume](ctx, c.cluster, volumes, "", claim.Spec.VolumeName)
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
		if err := c.finalizers(ctx, claims, &claim.ObjectMeta, append(claim.Finalizers, sourceFinalizer), nil); err != nil {
			return nil, err
		}
	}
	mode := v1.PersistentVolumeFilesystem
	if volume.Spec.VolumeMode != nil {
		mode = *volume.Spec.VolumeMode
	}
	_, err = c.Resource(contents).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotContent",
		"metadata": map[string]any{"name": name, "finalizers": []any{contentFinalizer}},
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
		c.event(ctx, c.name, "VolumeSnapshot", &one.ObjectMeta, "Normal", "CreatingSnapshot", message)
	}
	return nil, err
}

// class is what the snapshot names; where it names none, the default one of the driver is written
// into it first.
func (c *snapshotController) class(ctx context.Context, one *snapshot, driver string) (*snapshotClass, error) {
	if one.Spec.Class != "" {
		class, err := find[snapshotClass](c.classes, one.Spec.Class)
		if err == nil && class == nil {
			err = fmt.Errorf("failed to retrieve snapshot class %s: not found", one.Spec.Class)
		}
		return class, err
	}
	names := []string{}
	for _, item := range c.classes.GetStore().List() {
		class, err := decode[snapshotClass](item.(*unstructured.Unstructured))
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
		return nil, c.patch(ctx, snapshots, one.Namespace, one.Name, map[string]any{"spec": map[string]any{"volumeSnapshotClassName": names[0]}})
	}
	return nil, fmt.Errorf("%d default snapshot classes were found", len(names))
}

// tell writes what the content says.
func (c *snapshotController) tell(ctx context.Context, one *snapshot, from *content) error {
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
	if err := c.patch(ctx, snapshots, one.Namespace, one.Name, map[string]any{"status": told}, "status"); err != nil {
		return err
	}
	if from.Status.Ready && !one.Status.Ready {
		message := fmt.Sprintf("Snapshot %s/%s is ready to use.", one.Namespace, one.Name)
		c.event(ctx, c.name, "VolumeSnapshot", &one.ObjectMeta, "Normal", "SnapshotReady", message)
	}
	return nil
}

func same(a, b *snapshotError) bool {
	return a == b || a != nil && b != nil && a.Message == b.Message
}
