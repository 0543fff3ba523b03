package sidecar

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kvshoot.io/sandbox/kubernetes/csi/cluster"
)

// provision lets the driver create a volume, and creates its PersistentVolume.
func (p *provisioner) provision(ctx context.Context, claim *v1.PersistentVolumeClaim, class *storagev1.StorageClass, node string) (string, error) {
	name := p.prefix + "-" + string(claim.UID)
	if err := p.place(node); err != nil {
		return name, err
	}
	fsType := p.fsType
	parameters := map[string]string{}
	for key, value := range class.Parameters {
		switch {
		case key == reserved+"fstype":
			fsType = value
		case strings.HasPrefix(key, reserved):
			return name, fmt.Errorf("this stand-in has no %s", key)
		default:
			parameters[key] = value
		}
	}
	if p.metadata {
		maps.Copy(parameters, map[string]string{
			reserved + "pvc/name": claim.Name, reserved + "pvc/namespace": claim.Namespace, reserved + "pv/name": name,
		})
	}
	if fsType == "" {
		fsType = "ext4"
	}
	source, err := p.content(ctx, claim)
	if err != nil {
		return name, err
	}
	call, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	answer, err := p.controller.CreateVolume(call, &csi.CreateVolumeRequest{
		Name: name, Parameters: parameters, VolumeContentSource: source,
		CapacityRange:      &csi.CapacityRange{RequiredBytes: claim.Spec.Resources.Requests.Storage().Value()},
		VolumeCapabilities: capabilities(claim.Spec.AccessModes, claim.Spec.VolumeMode, fsType),
	})
	if err != nil {
		return name, err
	}
	volume, err := cluster.Encode(p.build(name, fsType, claim, class, answer.Volume), "v1", "PersistentVolume")
	if err != nil {
		return name, err
	}
	_, err = p.Resource(cluster.Volumes).Create(ctx, volume, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		err = nil
	}
	return name, err
}

// place checks the topology of the selected node, because the driver reports that volumes are not
// accessible everywhere.
func (p *provisioner) place(node string) error {
	if p.csiNodes == nil || node == "" {
		return nil
	}
	found, err := cluster.Find[storagev1.CSINode](p.csiNodes, node)
	if err != nil {
		return err
	}
	if found != nil {
		for _, one := range found.Spec.Drivers {
			if one.Name == p.driver && len(one.TopologyKeys) > 0 {
				return nil
			}
		}
	}
	return fmt.Errorf("error generating accessibility requirements: no topology key found on CSINode %s", node)
}

// content returns the source of a claim's data.
func (p *provisioner) content(ctx context.Context, claim *v1.PersistentVolumeClaim) (*csi.VolumeContentSource, error) {
	from := claim.Spec.DataSource
	if from == nil {
		return nil, nil
	}
	if from.Kind == "VolumeSnapshot" {
		return p.restored(ctx, claim, from.Name)
	}
	if from.Kind != "PersistentVolumeClaim" {
		return nil, fmt.Errorf("this stand-in has no data source %s", from.Kind)
	}
	source, err := cluster.Get[v1.PersistentVolumeClaim](ctx, p.Cluster, cluster.Claims, claim.Namespace, from.Name)
	if err != nil {
		return nil, err
	}
	volume, err := cluster.Get[v1.PersistentVolume](ctx, p.Cluster, cluster.Volumes, "", source.Spec.VolumeName)
	if err != nil {
		return nil, err
	}
	if volume.Spec.CSI == nil || volume.Spec.CSI.Driver != p.driver {
		return nil, fmt.Errorf("volume %s is not of this driver", volume.Name)
	}
	return &csi.VolumeContentSource{Type: &csi.VolumeContentSource_Volume{
		Volume: &csi.VolumeContentSource_VolumeSource{VolumeId: volume.Spec.CSI.VolumeHandle},
	}}, nil
}

// restored returns the snapshot that a claim restores.
func (p *provisioner) restored(ctx context.Context, claim *v1.PersistentVolumeClaim, name string) (*csi.VolumeContentSource, error) {
	one, err := cluster.Get[cluster.Snapshot](ctx, p.Cluster, cluster.Snapshots, claim.Namespace, name)
	if err != nil {
		return nil, fmt.Errorf("error getting snapshot %s from api server: %w", name, err)
	}
	if one.DeletionTimestamp != nil || !one.Status.Ready || one.Status.Content == "" {
		return nil, fmt.Errorf("snapshot %s is not Ready", name)
	}
	made, err := cluster.Get[cluster.SnapshotContent](ctx, p.Cluster, cluster.SnapshotContents, "", one.Status.Content)
	if err != nil {
		return nil, fmt.Errorf("error getting snapshotcontent of snapshot %s from api server: %w", name, err)
	}
	wanted, mode := claim.Spec.Resources.Requests.Storage().Value(), v1.PersistentVolumeFilesystem
	if claim.Spec.VolumeMode != nil {
		mode = *claim.Spec.VolumeMode
	}
	_, may := made.Annotations["snapshot.storage.kubernetes.io/allow-volume-mode-change"]
	switch {
	case made.Spec.Ref.UID != one.UID || made.Status.Handle == "":
		return nil, fmt.Errorf("snapshotcontent %s is not that of snapshot %s", made.Name, name)
	case made.Spec.Driver != p.driver:
		return nil, fmt.Errorf("requested snapshot %s is of driver %s", name, made.Spec.Driver)
	case made.Status.Size > wanted:
		return nil, fmt.Errorf("requested volume size %d is less than the size %d for the source snapshot %s", wanted, made.Status.Size, name)
	case made.Spec.Mode != "" && made.Spec.Mode != mode && !may:
		return nil, fmt.Errorf("requested volume %s/%s modifies the mode of the source volume but does not have permission to do so", claim.Namespace, claim.Name)
	}
	return &csi.VolumeContentSource{Type: &csi.VolumeContentSource_Snapshot{
		Snapshot: &csi.VolumeContentSource_SnapshotSource{SnapshotId: made.Status.Handle},
	}}, nil
}

func (p *provisioner) build(name, fsType string, claim *v1.PersistentVolumeClaim, class *storagev1.StorageClass, made *csi.Volume) *v1.PersistentVolume {
	policy := v1.PersistentVolumeReclaimDelete
	if class.ReclaimPolicy != nil {
		policy = *class.ReclaimPolicy
	}
	volume := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{provisionedKey: p.driver}},
		Spec: v1.PersistentVolumeSpec{
			Capacity:    v1.ResourceList{v1.ResourceStorage: *resource.NewQuantity(made.CapacityBytes, resource.BinarySI)},
			AccessModes: claim.Spec.AccessModes, VolumeMode: claim.Spec.VolumeMode,
			StorageClassName: class.Name, PersistentVolumeReclaimPolicy: policy, MountOptions: class.MountOptions,
			ClaimRef: &v1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID, ResourceVersion: claim.ResourceVersion},
			PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{
				Driver: p.driver, VolumeHandle: made.VolumeId, VolumeAttributes: made.VolumeContext,
			}},
		},
	}
	if policy == v1.PersistentVolumeReclaimDelete {
		volume.Finalizers = []string{provisionerFinalizer}
	}
	if claim.Spec.VolumeMode == nil || *claim.Spec.VolumeMode == v1.PersistentVolumeFilesystem {
		volume.Spec.CSI.FSType = fsType
	}
	return volume
}

func capabilities(modes []v1.PersistentVolumeAccessMode, kind *v1.PersistentVolumeMode, fsType string) []*csi.VolumeCapability {
	made := []*csi.VolumeCapability{}
	for _, mode := range modes {
		made = append(made, capability(mode, kind, fsType))
	}
	return made
}

func capability(mode v1.PersistentVolumeAccessMode, kind *v1.PersistentVolumeMode, fsType string) *csi.VolumeCapability {
	one := &csi.VolumeCapability{
		AccessMode: &csi.VolumeCapability_AccessMode{Mode: csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
		AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{FsType: fsType}},
	}
	switch mode {
	case v1.ReadWriteMany:
		one.AccessMode.Mode = csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER
	case v1.ReadOnlyMany:
		one.AccessMode.Mode = csi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY
	}
	if kind != nil && *kind == v1.PersistentVolumeBlock {
		one.AccessType = &csi.VolumeCapability_Block{Block: &csi.VolumeCapability_BlockVolume{}}
	}
	return one
}
