package sidecar

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"kvshoot.io/sandbox/kubernetes/csi/cluster"
)

// attacher attaches volumes to nodes and detaches them.
type attacher struct {
	*sidecar
	controller                    csi.ControllerClient
	finalizer                     string
	volumes, csiNodes, attachment cache.SharedIndexInformer
}

// Attacher runs the program csi-attacher.
func Attacher(ctx context.Context, args []string) error {
	o := common("worker-threads", 15*time.Second)
	o.set.Duration("resync", 10*time.Minute, "how often everything is looked at again")
	o.set.Duration("reconcile-sync", time.Minute, "without effect: the driver lists no volumes")
	o.set.String("default-fstype", "", "where a volume names none")
	o.set.Int("max-entries", 0, "without effect")
	s, err := begin(ctx, o, args)
	if err != nil {
		return err
	}
	a := &attacher{sidecar: s, controller: csi.NewControllerClient(s.calls), finalizer: "external-attacher/" + strings.ReplaceAll(s.driver, ".", "-")}
	a.volumes, a.csiNodes, a.attachment = a.Follow(cluster.Volumes), a.Follow(cluster.CSINodes), a.Follow(cluster.Attachments)
	if err := a.Start(ctx); err != nil {
		return err
	}
	cluster.Reconcile(ctx, a.attachment, o.pace, a.attachmentChanged)
	cluster.Reconcile(ctx, a.volumes, o.pace, a.volumeChanged)
	<-ctx.Done()
	return nil
}

func (a *attacher) attachmentChanged(ctx context.Context, one *storagev1.VolumeAttachment) error {
	if one.Spec.Attacher != a.driver || one.Spec.Source.PersistentVolumeName == nil {
		return nil
	}
	gone := one.DeletionTimestamp != nil
	if gone && !slices.Contains(one.Finalizers, a.finalizer) || !gone && one.Status.Attached {
		return nil
	}
	volume, err := cluster.Find[v1.PersistentVolume](a.volumes, *one.Spec.Source.PersistentVolumeName)
	if err == nil && (volume == nil || volume.Spec.CSI == nil) {
		err = fmt.Errorf("no volume %s of this driver", *one.Spec.Source.PersistentVolumeName)
	}
	problem, told, step := "attachError", one.Status.AttachError, a.attach
	if gone {
		problem, told, step = "detachError", one.Status.DetachError, a.detach
	}
	if err == nil {
		err = step(ctx, one, volume)
	}
	if err != nil && (told == nil || told.Message != err.Error()) {
		// Only once, because each write would trigger another attempt without back-off.
		now := map[string]any{"message": err.Error(), "time": metav1.Now().UTC().Format(time.RFC3339)}
		if err := a.Patch(ctx, cluster.Attachments, "", one.Name, map[string]any{"status": map[string]any{problem: now}}, "status"); err != nil {
			klog.ErrorS(err, "cannot write the error", "attachment", one.Name)
		}
	}
	return err
}

// attach first sets the finalizers of the attachment and the volume, so that neither is deleted
// without a detach.
func (a *attacher) attach(ctx context.Context, one *storagev1.VolumeAttachment, volume *v1.PersistentVolume) error {
	node, err := a.node(one)
	if err != nil {
		return err
	}
	if !slices.Contains(volume.Finalizers, a.finalizer) {
		if err := a.SetFinalizers(ctx, cluster.Volumes, &volume.ObjectMeta, append(volume.Finalizers, a.finalizer), nil); err != nil {
			return err
		}
	}
	if !slices.Contains(one.Finalizers, a.finalizer) {
		node := map[string]any{"annotations": map[string]any{nodeKey: node}}
		if err := a.SetFinalizers(ctx, cluster.Attachments, &one.ObjectMeta, append(one.Finalizers, a.finalizer), node); err != nil {
			return err
		}
	}
	mode := v1.ReadWriteOnce
	if len(volume.Spec.AccessModes) > 0 {
		mode = volume.Spec.AccessModes[0]
	}
	call, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	answer, err := a.controller.ControllerPublishVolume(call, &csi.ControllerPublishVolumeRequest{
		VolumeId: volume.Spec.CSI.VolumeHandle, NodeId: node, VolumeContext: volume.Spec.CSI.VolumeAttributes,
		VolumeCapability: capability(mode, volume.Spec.VolumeMode, volume.Spec.CSI.FSType),
	})
	if err != nil {
		return err
	}
	klog.InfoS("attached", "volume", volume.Name, "node", one.Spec.NodeName)
	status := map[string]any{"attached": true, "attachmentMetadata": answer.PublishContext, "attachError": nil}
	return a.Patch(ctx, cluster.Attachments, "", one.Name, map[string]any{"status": status}, "status")
}

func (a *attacher) detach(ctx context.Context, one *storagev1.VolumeAttachment, volume *v1.PersistentVolume) error {
	node, err := a.node(one)
	if err != nil {
		return err
	}
	call, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	_, err = a.controller.ControllerUnpublishVolume(call, &csi.ControllerUnpublishVolumeRequest{VolumeId: volume.Spec.CSI.VolumeHandle, NodeId: node})
	if err != nil {
		return err
	}
	klog.InfoS("detached", "volume", volume.Name, "node", one.Spec.NodeName)
	status := map[string]any{"attached": false, "detachError": nil}
	if err := a.Patch(ctx, cluster.Attachments, "", one.Name, map[string]any{"status": status}, "status"); err != nil {
		return err
	}
	left := map[string]any{"metadata": map[string]any{"finalizers": without(one.Finalizers, a.finalizer)}}
	return a.Patch(ctx, cluster.Attachments, "", one.Name, left)
}

// Annotation of an attachment, for the case that the CSINode is deleted first.
const nodeKey = "csi.alpha.kubernetes.io/node-id"

// node returns the driver's name of a node, from the CSINode or from the attachment.
func (a *attacher) node(one *storagev1.VolumeAttachment) (string, error) {
	found, err := cluster.Find[storagev1.CSINode](a.csiNodes, one.Spec.NodeName)
	if err != nil {
		return "", err
	}
	if found != nil {
		for _, driver := range found.Spec.Drivers {
			if driver.Name == a.driver {
				return driver.NodeID, nil
			}
		}
	}
	if known := one.Annotations[nodeKey]; known != "" && one.DeletionTimestamp != nil {
		return known, nil
	}
	return "", fmt.Errorf("CSINode %s does not contain driver %s", one.Spec.NodeName, a.driver)
}

// volumeChanged removes the finalizer of a deleted volume once nothing is attached to it.
func (a *attacher) volumeChanged(ctx context.Context, volume *v1.PersistentVolume) error {
	if volume.DeletionTimestamp == nil || !slices.Contains(volume.Finalizers, a.finalizer) {
		return nil
	}
	for _, item := range a.attachment.GetStore().List() {
		one, err := cluster.Decode[storagev1.VolumeAttachment](item.(*unstructured.Unstructured))
		if err != nil {
			return err
		}
		if name := one.Spec.Source.PersistentVolumeName; name != nil && *name == volume.Name {
			return fmt.Errorf("volume %s is still attached to %s", volume.Name, one.Spec.NodeName)
		}
	}
	return a.SetFinalizers(ctx, cluster.Volumes, &volume.ObjectMeta, without(volume.Finalizers, a.finalizer), nil)
}
