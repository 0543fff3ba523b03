package main

import (
	"context"
	"os"
	"path/filepath"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	provisioner   = "disk.sandbox.kvshoot.io"
	provisionedBy = "pv.kubernetes.io/provisioned-by"
)

// claim plays an external provisioner, and a resizer.
func (s *simulator) claim(ctx context.Context, claim *v1.PersistentVolumeClaim) (time.Duration, error) {
	if claim.Status.Phase == v1.ClaimBound {
		return 0, s.grow(ctx, claim)
	}
	if claim.Status.Phase != v1.ClaimPending || claim.Spec.VolumeName != "" || claim.DeletionTimestamp != nil ||
		claim.Annotations["volume.kubernetes.io/storage-provisioner"] != provisioner {
		return 0, nil
	}
	if ref := claim.Spec.DataSourceRef; ref != nil && ref.APIGroup != nil && *ref.APIGroup == "cdi.kubevirt.io" {
		return 0, nil
	}
	if from := claim.Spec.DataSource; from != nil && from.Kind == "VolumeSnapshot" {
		if _, ready := s.restorable(claim.Namespace, from.Name); !ready {
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
	_, err := s.kube.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		err = nil
	}
	return 0, err
}

// grow gives a claim that asks for more what it asks for.
func (s *simulator) grow(ctx context.Context, claim *v1.PersistentVolumeClaim) error {
	wanted, has := claim.Spec.Resources.Requests[v1.ResourceStorage], claim.Status.Capacity[v1.ResourceStorage]
	if wanted.Cmp(has) <= 0 {
		return nil
	}
	volume, err := s.kube.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil || volume.Annotations[provisionedBy] != provisioner {
		return err
	}
	volume.Spec.Capacity[v1.ResourceStorage] = wanted
	if _, err := s.kube.CoreV1().PersistentVolumes().Update(ctx, volume, metav1.UpdateOptions{}); err != nil {
		return err
	}
	grown := claim.DeepCopy()
	grown.Status.Capacity[v1.ResourceStorage] = wanted
	_, err = s.kube.CoreV1().PersistentVolumeClaims(claim.Namespace).UpdateStatus(ctx, grown, metav1.UpdateOptions{})
	return err
}

// volume plays the provisioner's reclaim.
func (s *simulator) volume(ctx context.Context, volume *v1.PersistentVolume) (time.Duration, error) {
	if volume.Status.Phase != v1.VolumeReleased || volume.DeletionTimestamp != nil || volume.Annotations[provisionedBy] != provisioner ||
		volume.Spec.PersistentVolumeReclaimPolicy != v1.PersistentVolumeReclaimDelete {
		return 0, nil
	}
	if s.runner != nil {
		if err := os.RemoveAll(filepath.Join(s.runner.volumes, volume.Name)); err != nil {
			return 0, err
		}
	}
	return 0, s.kube.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, metav1.DeleteOptions{})
}
