package driver

import (
	"context"
	"slices"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"kvshoot.io/sandbox/kubernetes/csi/cluster"
)

const (
	patience = 2 * time.Minute
	poll     = time.Second
)

// CreateVolume creates a DataVolume with the volume's name. Its UID is the disk's serial number, by
// which the guest finds the device.
func (d *driver) CreateVolume(ctx context.Context, request *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	class := request.Parameters["infraStorageClassName"]
	if err := d.admit(class, request); err != nil {
		return nil, err
	}
	size := request.GetCapacityRange().GetRequiredBytes()
	source, err := d.source(ctx, request)
	if err != nil {
		return nil, err
	}
	wanted := d.build(class, size, source, request)
	volume, err := d.volume(ctx, request.Name)
	if apierrors.IsNotFound(err) {
		if !d.owns(request.Name, d.labels) {
			return nil, status.Errorf(codes.InvalidArgument, "name of volume %s does not begin with %s", request.Name, d.prefix)
		}
		volume, err = d.infra.Resource(cluster.DataVolumes).Namespace(d.namespace).Create(ctx, wanted, metav1.CreateOptions{})
	}
	if err != nil {
		return nil, err
	}
	if asked(volume).Value() != size {
		return nil, status.Errorf(codes.AlreadyExists, "volume %s has another size", request.Name)
	}
	bus := request.Parameters["bus"]
	if bus == "" {
		bus = "scsi"
	}
	return &csi.CreateVolumeResponse{Volume: &csi.Volume{
		VolumeId: request.Name, CapacityBytes: size, ContentSource: request.VolumeContentSource,
		VolumeContext: map[string]string{"bus": bus, "serial": string(volume.GetUID())},
	}}, nil
}

func (d *driver) admit(class string, request *csi.CreateVolumeRequest) error {
	switch {
	case request.Name == "":
		return status.Error(codes.InvalidArgument, "name missing in request")
	case len(request.VolumeCapabilities) == 0:
		return status.Error(codes.InvalidArgument, "volume capabilities missing in request")
	}
	for _, one := range request.VolumeCapabilities {
		if many(one) && one.GetBlock() == nil {
			return status.Error(codes.InvalidArgument, "non-block volume with RWX access mode is not supported")
		}
	}
	if d.allowed.AllowAll || class == "" && d.allowed.AllowDefault || slices.Contains(d.allowed.AllowList, class) {
		return nil
	}
	return status.Error(codes.InvalidArgument, "infraStorageclass is not in the allowed list")
}

func many(one *csi.VolumeCapability) bool {
	return one.GetAccessMode().GetMode() == csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER
}

// source returns the source of the DataVolume.
func (d *driver) source(ctx context.Context, request *csi.CreateVolumeRequest) (map[string]any, error) {
	if from := request.GetVolumeContentSource().GetVolume(); from != nil {
		return map[string]any{"pvc": map[string]any{"name": from.VolumeId, "namespace": d.namespace}}, nil
	}
	from := request.GetVolumeContentSource().GetSnapshot()
	if from == nil {
		return map[string]any{"blank": map[string]any{}}, nil
	}
	if _, err := d.snapshot(ctx, from.SnapshotId); apierrors.IsNotFound(err) {
		return nil, status.Errorf(codes.NotFound, "source snapshot content %s not found", from.SnapshotId)
	} else if err != nil {
		return nil, err
	}
	return map[string]any{"snapshot": map[string]any{"name": from.SnapshotId, "namespace": d.namespace}}, nil
}

func (d *driver) build(class string, size int64, source map[string]any, request *csi.CreateVolumeRequest) *unstructured.Unstructured {
	storage := map[string]any{
		"resources": map[string]any{"requests": map[string]any{"storage": resource.NewQuantity(size, resource.BinarySI).String()}},
	}
	if class != "" {
		storage["storageClassName"] = class
	}
	if slices.ContainsFunc(request.VolumeCapabilities, many) {
		storage["accessModes"] = []any{"ReadWriteMany"}
		storage["volumeMode"] = "Block"
	}
	volume := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume",
		"metadata": map[string]any{"name": request.Name, "namespace": d.namespace},
		"spec":     map[string]any{"storage": storage, "source": source},
	}}
	volume.SetLabels(d.labels)
	volume.SetAnnotations(map[string]string{"cdi.kubevirt.io/storage.deleteAfterCompletion": "false"})
	return volume
}

// asked returns the size that a DataVolume requests.
func asked(volume *unstructured.Unstructured) *resource.Quantity {
	text, _, _ := unstructured.NestedString(volume.Object, "spec", "storage", "resources", "requests", "storage")
	size, err := resource.ParseQuantity(text)
	if err != nil {
		return &resource.Quantity{}
	}
	return &size
}

// volume reads a DataVolume, and refuses one that does not belong to the driver.
func (d *driver) volume(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	volume, err := d.infra.Resource(cluster.DataVolumes).Namespace(d.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if !d.owns(name, volume.GetLabels()) {
		return nil, status.Errorf(codes.InvalidArgument, "DataVolume %s is not of this cluster", name)
	}
	return volume, nil
}

func (d *driver) DeleteVolume(ctx context.Context, request *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	if request.VolumeId == "" {
		return nil, status.Error(codes.InvalidArgument, "volume id missing in request")
	}
	_, err := d.volume(ctx, request.VolumeId)
	if err == nil {
		err = d.infra.Resource(cluster.DataVolumes).Namespace(d.namespace).Delete(ctx, request.VolumeId, metav1.DeleteOptions{})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	return &csi.DeleteVolumeResponse{}, nil
}

// ControllerExpandVolume expands the volume's claim in the infrastructure. The node's part follows.
func (d *driver) ControllerExpandVolume(ctx context.Context, request *csi.ControllerExpandVolumeRequest) (*csi.ControllerExpandVolumeResponse, error) {
	if _, err := d.volume(ctx, request.VolumeId); err != nil {
		return nil, err
	}
	size := resource.NewQuantity(request.GetCapacityRange().GetRequiredBytes(), resource.BinarySI)
	claim := d.infra.Resource(cluster.Claims).Namespace(d.namespace)
	object, err := claim.Get(ctx, request.VolumeId, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	found, err := cluster.Decode[v1.PersistentVolumeClaim](object)
	if err != nil {
		return nil, err
	}
	if found.Spec.Resources.Requests.Storage().Cmp(*size) < 0 {
		requests := map[string]any{"requests": map[string]any{"storage": size.String()}}
		err := d.infra.Patch(ctx, cluster.Claims, d.namespace, request.VolumeId, map[string]any{"spec": map[string]any{"resources": requests}})
		if err != nil {
			return nil, err
		}
	}
	err = wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		object, err := d.infra.Resource(cluster.Volumes).Get(ctx, found.Spec.VolumeName, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		volume, err := cluster.Decode[v1.PersistentVolume](object)
		return err == nil && volume.Spec.Capacity.Storage().Cmp(*size) >= 0, err
	})
	if err != nil {
		return nil, err
	}
	return &csi.ControllerExpandVolumeResponse{
		CapacityBytes: size.Value(), NodeExpansionRequired: request.GetVolumeCapability().GetBlock() == nil,
	}, nil
}

func (d *driver) ValidateVolumeCapabilities(ctx context.Context, request *csi.ValidateVolumeCapabilitiesRequest) (*csi.ValidateVolumeCapabilitiesResponse, error) {
	if _, err := d.volume(ctx, request.VolumeId); apierrors.IsNotFound(err) {
		return nil, status.Errorf(codes.NotFound, "volume %s not found", request.VolumeId)
	} else if err != nil {
		return nil, err
	}
	return &csi.ValidateVolumeCapabilitiesResponse{Confirmed: &csi.ValidateVolumeCapabilitiesResponse_Confirmed{
		VolumeContext: request.VolumeContext, VolumeCapabilities: request.VolumeCapabilities, Parameters: request.Parameters,
	}}, nil
}
