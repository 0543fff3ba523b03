package storage

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	provisioner   = "disk.sandbox.kvshoot.io"
	provisionedBy = "pv.kubernetes.io/provisioned-by"
)

// reconcileClaim provisions a volume for a claim, and resizes it.
func (c *Controller) reconcileClaim(ctx context.Context, claim *v1.PersistentVolumeClaim) (time.Duration, error) {
	if claim.Status.Phase == v1.ClaimBound {
		return 0, c.resize(ctx, claim)
	}
	if claim.Status.Phase != v1.ClaimPending || claim.Spec.VolumeName != "" || claim.DeletionTimestamp != nil ||
		claim.Annotations["volume.kubernetes.io/storage-provisioner"] != provisioner {
		return 0, nil
	}
	if ref := claim.Spec.DataSourceRef; ref != nil && ref.APIGroup != nil && *ref.APIGroup == "cdi.kubevirt.io" {
		return 0, nil
	}
	if from := claim.Spec.DataSource; from != nil && from.Kind == "VolumeSnapshot" {
		if _, ready := c.restorable(claim.Namespace, from.Name); !ready {
			return 5 * poll, nil
		}
	}
	mode := v1.PersistentVolumeFilesystem
	if claim.Spec.VolumeMode != nil {
		mode = *claim.Spec.VolumeMode
	}
	name := "pvc-" + string(claim.UID)
	volume := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{provisionedBy: provisioner}},
		Spec: v1.PersistentVolumeSpec{
			Capacity:                      v1.ResourceList{v1.ResourceStorage: claim.Spec.Resources.Requests[v1.ResourceStorage]},
			AccessModes:                   claim.Spec.AccessModes,
			VolumeMode:                    &mode,
			StorageClassName:              *claim.Spec.StorageClassName,
			PersistentVolumeReclaimPolicy: v1.PersistentVolumeReclaimDelete,
			ClaimRef:                      &v1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
			PersistentVolumeSource:        v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: provisioner, VolumeHandle: name}},
		},
	}
	_, err := c.Client.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		err = nil
	}
	return 0, err
}

// resize expands a bound volume to the size that its claim requests.
func (c *Controller) resize(ctx context.Context, claim *v1.PersistentVolumeClaim) error {
	wanted, actual := claim.Spec.Resources.Requests[v1.ResourceStorage], claim.Status.Capacity[v1.ResourceStorage]
	if wanted.Cmp(actual) <= 0 {
		return nil
	}
	volume, err := c.Client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil || volume.Annotations[provisionedBy] != provisioner {
		return err
	}
	volume.Spec.Capacity[v1.ResourceStorage] = wanted
	if _, err := c.Client.CoreV1().PersistentVolumes().Update(ctx, volume, metav1.UpdateOptions{}); err != nil {
		return err
	}
	grown := claim.DeepCopy()
	grown.Status.Capacity[v1.ResourceStorage] = wanted
	_, err = c.Client.CoreV1().PersistentVolumeClaims(claim.Namespace).UpdateStatus(ctx, grown, metav1.UpdateOptions{})
	return err
}

// reclaim deletes a released volume and its data.
func (c *Controller) reclaim(ctx context.Context, volume *v1.PersistentVolume) error {
	if volume.Status.Phase != v1.VolumeReleased || volume.DeletionTimestamp != nil || volume.Annotations[provisionedBy] != provisioner ||
		volume.Spec.PersistentVolumeReclaimPolicy != v1.PersistentVolumeReclaimDelete {
		return nil
	}
	if err := c.DeleteData(volume.Name); err != nil {
		return err
	}
	return c.Client.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, metav1.DeleteOptions{})
}
