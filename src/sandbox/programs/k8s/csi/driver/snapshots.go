package driver

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"

	"kvshoot.io/sandbox/kubernetes/csi/cluster"
)

const snapshotClassKey = "infraSnapshotClassName"

// CreateSnapshot creates a VolumeSnapshot of the volume's claim in the infrastructure. It waits
// until the snapshot is ready, because only then its size is known.
func (d *driver) CreateSnapshot(ctx context.Context, request *csi.CreateSnapshotRequest) (*csi.CreateSnapshotResponse, error) {
	if request.Name == "" || request.SourceVolumeId == "" {
		return nil, status.Error(codes.InvalidArgument, "name or source volume id missing in request")
	}
	one, err := d.snapshot(ctx, request.Name)
	if apierrors.IsNotFound(err) {
		one, err = d.take(ctx, request)
	}
	if err != nil {
		return nil, err
	}
	if one.Spec.Source.Claim != request.SourceVolumeId {
		return nil, status.Errorf(codes.AlreadyExists, "snapshot %s is of another volume", request.Name)
	}
	return &csi.CreateSnapshotResponse{Snapshot: described(one)}, nil
}

func (d *driver) take(ctx context.Context, request *csi.CreateSnapshotRequest) (*cluster.Snapshot, error) {
	if _, err := d.volume(ctx, request.SourceVolumeId); apierrors.IsNotFound(err) {
		return nil, status.Errorf(codes.NotFound, "source volume %s not found", request.SourceVolumeId)
	} else if err != nil {
		return nil, err
	}
	class, err := d.snapshotClass(ctx, request.SourceVolumeId, request.Parameters[snapshotClassKey])
	if err != nil {
		return nil, err
	}
	spec := map[string]any{"source": map[string]any{"persistentVolumeClaimName": request.SourceVolumeId}}
	if class != "" {
		spec["volumeSnapshotClassName"] = class
	}
	wanted := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot",
		"metadata": map[string]any{"name": request.Name, "namespace": d.namespace}, "spec": spec,
	}}
	wanted.SetLabels(d.labels)
	if _, err := d.infra.Resource(cluster.Snapshots).Namespace(d.namespace).Create(ctx, wanted, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	var one *cluster.Snapshot
	err = wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		one, err = d.snapshot(ctx, request.Name)
		return err == nil && one.Status.Ready, err
	})
	return one, err
}

// snapshotClass returns the infrastructure's class to use: the default one if the policy allows
// that, or else one that is mapped to the volume's storage class.
func (d *driver) snapshotClass(ctx context.Context, volume, wanted string) (string, error) {
	claim, err := cluster.Get[v1.PersistentVolumeClaim](ctx, d.infra, cluster.Claims, d.namespace, volume)
	if err != nil {
		return "", errors.New("unable to determine volume snapshot class name for infra source volume")
	}
	if d.allowed.AllowDefault {
		return "", nil
	}
	const unable = "unable to determine volume snapshot class name for snapshot creation, "
	class := ""
	if claim.Spec.StorageClassName != nil {
		class = *claim.Spec.StorageClassName
	}
	if class == "" {
		return "", errors.New(unable + "and default not allowed")
	}
	if !d.allowed.AllowAll && !slices.Contains(d.allowed.AllowList, class) {
		return "", fmt.Errorf(unable+"no valid snapshot classes found based on storage class [%s]", class)
	}
	mapped := []string{}
	for _, one := range d.allowed.Mapping {
		if slices.Contains(one.StorageClasses, class) {
			mapped = one.SnapshotClasses
			break
		}
	}
	// Upstream always reads these, and names them in its error.
	known, err := d.tenantClasses(ctx, mapped)
	switch {
	case err != nil:
		return "", err
	case slices.Contains(mapped, wanted):
		return wanted, nil
	case d.allowed.AllowAll:
		return "", nil
	case len(mapped) == 0:
		return "", errors.New(unable + "no valid snapshot classes found")
	case wanted == "":
		return "", fmt.Errorf(unable+"valid snapshot classes are %v", known)
	}
	return "", fmt.Errorf("volume snapshot class %s is not compatible with PVC with storage class %s, valid snapshot classes for this pvc are %v", wanted, class, known)
}

// tenantClasses returns the classes of the tenant that map to any of the infrastructure's classes.
func (d *driver) tenantClasses(ctx context.Context, infra []string) ([]string, error) {
	list, err := d.tenant.Resource(cluster.SnapshotClasses).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	known := []string{}
	for i := range list.Items {
		name, found, _ := unstructured.NestedString(list.Items[i].Object, "parameters", snapshotClassKey)
		if found && slices.Contains(infra, name) {
			known = append(known, list.Items[i].GetName())
		}
	}
	return known, nil
}

// snapshot reads a VolumeSnapshot, and refuses one that does not belong to the driver.
func (d *driver) snapshot(ctx context.Context, name string) (*cluster.Snapshot, error) {
	one, err := cluster.Get[cluster.Snapshot](ctx, d.infra, cluster.Snapshots, d.namespace, name)
	if err == nil && !labels.SelectorFromSet(d.labels).Matches(labels.Set(one.Labels)) {
		return nil, errors.New("invalid snapshot name")
	}
	return one, err
}

func described(one *cluster.Snapshot) *csi.Snapshot {
	made := &csi.Snapshot{
		SnapshotId: one.Name, SourceVolumeId: one.Spec.Source.Claim, CreationTime: timestamppb.New(one.CreationTimestamp.Time), ReadyToUse: one.Status.Ready,
	}
	if one.Status.Size != nil {
		made.SizeBytes = one.Status.Size.Value()
	}
	return made
}

func (d *driver) DeleteSnapshot(ctx context.Context, request *csi.DeleteSnapshotRequest) (*csi.DeleteSnapshotResponse, error) {
	if request.SnapshotId == "" {
		return nil, status.Error(codes.InvalidArgument, "snapshot id missing in request")
	}
	_, err := d.snapshot(ctx, request.SnapshotId)
	if err == nil {
		err = d.infra.Resource(cluster.Snapshots).Namespace(d.namespace).Delete(ctx, request.SnapshotId, metav1.DeleteOptions{})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	return &csi.DeleteSnapshotResponse{}, nil
}

// ListSnapshots returns a snapshot by its name, those of a volume, or all, without paging.
func (d *driver) ListSnapshots(ctx context.Context, request *csi.ListSnapshotsRequest) (*csi.ListSnapshotsResponse, error) {
	answer := &csi.ListSnapshotsResponse{}
	if request.SnapshotId != "" {
		one, err := d.snapshot(ctx, request.SnapshotId)
		if err == nil {
			answer.Entries = append(answer.Entries, &csi.ListSnapshotsResponse_Entry{Snapshot: described(one)})
		}
		return answer, cluster.IgnoreNotFound(err)
	}
	list, err := d.infra.Resource(cluster.Snapshots).Namespace(d.namespace).List(ctx, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(d.labels).String()})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		one, err := cluster.Decode[cluster.Snapshot](&list.Items[i])
		if err != nil {
			return nil, err
		}
		if request.SourceVolumeId == "" || one.Spec.Source.Claim == request.SourceVolumeId {
			answer.Entries = append(answer.Entries, &csi.ListSnapshotsResponse_Entry{Snapshot: described(one)})
		}
	}
	return answer, nil
}
