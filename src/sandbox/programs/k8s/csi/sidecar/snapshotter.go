package sidecar

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kvshoot.io/sandbox/kubernetes/csi/cluster"
)

// snapshotter lets the driver create and delete the snapshots of contents.
type snapshotter struct {
	*sidecar
	controller csi.ControllerClient
	prefix     string
	metadata   bool
}

// Snapshotter runs the program csi-snapshotter.
func Snapshotter(ctx context.Context, args []string) error {
	o := common("worker-threads", time.Minute)
	n := &snapshotter{}
	patience := o.set.Duration("retry-crd-interval-max", 5*time.Second, "how long the definitions are waited for")
	o.set.StringVar(&n.prefix, "snapshot-name-prefix", "snapshot", "that snapshots' names begin with")
	o.set.Int("snapshot-name-uuid-length", -1, "without effect")
	o.set.Duration("resync-period", 15*time.Minute, "how often everything is looked at again")
	o.set.BoolVar(&n.metadata, "extra-create-metadata", false, "tell the driver of the snapshot")
	s, err := begin(ctx, o, args)
	if err != nil {
		return err
	}
	n.sidecar, n.controller = s, csi.NewControllerClient(s.calls)
	if err := n.capable(ctx); err != nil {
		return err
	}
	if err := s.defined(ctx, *patience, cluster.SnapshotClasses, cluster.SnapshotContents); err != nil {
		return err
	}
	all := s.Follow(cluster.SnapshotContents)
	if err := s.Start(ctx); err != nil {
		return err
	}
	cluster.Reconcile(ctx, all, o.pace, n.content, beyondMark)
	<-ctx.Done()
	return nil
}

func (n *snapshotter) capable(ctx context.Context) error {
	answer, err := n.controller.ControllerGetCapabilities(ctx, &csi.ControllerGetCapabilitiesRequest{})
	if err != nil {
		return err
	}
	for _, one := range answer.Capabilities {
		if one.GetRpc().GetType() == csi.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT {
			return nil
		}
	}
	return fmt.Errorf("CSI driver %s does not support ControllerCreateSnapshot", n.driver)
}

func (n *snapshotter) content(ctx context.Context, one *cluster.SnapshotContent) error {
	if one.Spec.Driver != n.driver {
		return nil
	}
	_, creating := one.Annotations[cluster.BeingCreated]
	_, deleted := one.Annotations[cluster.BeingDeleted]
	// The driver was never asked to create it.
	unbound := one.Spec.Source.Snapshot != "" && one.Spec.Ref.UID == ""
	if one.DeletionTimestamp != nil && !creating && (deleted || unbound) {
		return n.remove(ctx, one)
	}
	if one.Status.Ready {
		return nil
	}
	step, reason, message := n.create, "SnapshotCreationFailed", "Failed to create snapshot: "
	if one.Spec.Source.Snapshot != "" {
		step, reason, message = n.look, "SnapshotContentCheckandUpdateFailed", "Failed to check and update snapshot content: "
	}
	ready, err := step(ctx, one)
	if err != nil {
		n.failed(ctx, cluster.SnapshotContents, &one.ObjectMeta, one.Status.Error, reason, message+err.Error())
	} else if !ready {
		err = fmt.Errorf("snapshot of %s is not ready yet", one.Name)
	}
	return err
}

// create requests the snapshot. The content is marked meanwhile, and remains so if the outcome is
// unknown: then it has to be requested again before it can be deleted.
func (n *snapshotter) create(ctx context.Context, one *cluster.SnapshotContent) (bool, error) {
	if one.Spec.Class == "" {
		return false, fmt.Errorf("failed to take snapshot %s without a snapshot class", one.Name)
	}
	class, err := cluster.Get[cluster.SnapshotClass](ctx, n.Cluster, cluster.SnapshotClasses, "", one.Spec.Class)
	if err != nil {
		return false, err
	}
	parameters := map[string]string{}
	for key, value := range class.Parameters {
		if strings.HasPrefix(key, reserved) {
			return false, fmt.Errorf("this stand-in has no %s", key)
		}
		parameters[key] = value
	}
	if n.metadata {
		maps.Copy(parameters, map[string]string{
			reserved + "volumesnapshot/name": one.Spec.Ref.Name, reserved + "volumesnapshot/namespace": one.Spec.Ref.Namespace,
			reserved + "volumesnapshotcontent/name": one.Name,
		})
	}
	if err := n.mark(ctx, one, "yes"); err != nil {
		return false, err
	}
	call, cancel := context.WithTimeout(ctx, n.timeout)
	defer cancel()
	answer, err := n.controller.CreateSnapshot(call, &csi.CreateSnapshotRequest{
		Name: n.prefix + "-" + string(one.Spec.Ref.UID), SourceVolumeId: one.Spec.Source.Volume, Parameters: parameters,
	})
	if err != nil {
		if final(err) {
			if err := n.mark(ctx, one, nil); err != nil {
				return false, err
			}
		}
		return false, fmt.Errorf("failed to take snapshot of the volume %s: %w", one.Spec.Source.Volume, err)
	}
	if err := n.writeStatus(ctx, one, answer.Snapshot); err != nil {
		return false, err
	}
	return answer.Snapshot.ReadyToUse, n.mark(ctx, one, nil)
}

func (n *snapshotter) mark(ctx context.Context, one *cluster.SnapshotContent, value any) error {
	annotations := map[string]any{cluster.BeingCreated: value}
	return n.Patch(ctx, cluster.SnapshotContents, "", one.Name, map[string]any{"metadata": map[string]any{"annotations": annotations}})
}

// beyondMark reports whether more than the mark has changed. Otherwise each failure would be
// retried at once. Removing the mark of a content that is to be deleted matters, too.
func beyondMark(old, new *unstructured.Unstructured) bool {
	if _, deleted := new.GetAnnotations()[cluster.BeingDeleted]; deleted {
		return true
	}
	bare := func(one *unstructured.Unstructured) map[string]any {
		one = one.DeepCopy()
		one.SetResourceVersion("")
		unstructured.RemoveNestedField(one.Object, "metadata", "annotations", cluster.BeingCreated)
		if len(one.GetAnnotations()) == 0 {
			unstructured.RemoveNestedField(one.Object, "metadata", "annotations")
		}
		return one.Object
	}
	return !reflect.DeepEqual(bare(old), bare(new))
}

// final reports whether the driver has stopped working on a request.
func final(err error) bool {
	switch status.Code(err) {
	case codes.Canceled, codes.DeadlineExceeded, codes.Unavailable, codes.ResourceExhausted, codes.Aborted:
		return false
	}
	return true
}

// look reads the state of a snapshot that existed before its content.
func (n *snapshotter) look(ctx context.Context, one *cluster.SnapshotContent) (bool, error) {
	call, cancel := context.WithTimeout(ctx, n.timeout)
	defer cancel()
	answer, err := n.controller.ListSnapshots(call, &csi.ListSnapshotsRequest{SnapshotId: one.Spec.Source.Snapshot})
	if err != nil {
		return false, err
	}
	if len(answer.Entries) == 0 {
		return false, fmt.Errorf("can not find snapshot for snapshotID %s", one.Spec.Source.Snapshot)
	}
	found := answer.Entries[0].Snapshot
	return found.ReadyToUse, n.writeStatus(ctx, one, found)
}

func (n *snapshotter) writeStatus(ctx context.Context, one *cluster.SnapshotContent, made *csi.Snapshot) error {
	return n.Patch(ctx, cluster.SnapshotContents, "", one.Name, map[string]any{"status": map[string]any{
		"snapshotHandle": made.SnapshotId, "creationTime": made.CreationTime.AsTime().UnixNano(),
		"readyToUse": made.ReadyToUse, "restoreSize": made.SizeBytes, "error": nil,
	}}, "status")
}

// remove deletes the snapshot, unless it is to be retained, and then removes the content's
// finalizer.
func (n *snapshotter) remove(ctx context.Context, one *cluster.SnapshotContent) error {
	if one.Spec.Policy == "Delete" && one.Status.Handle != "" {
		call, cancel := context.WithTimeout(ctx, n.timeout)
		defer cancel()
		if _, err := n.controller.DeleteSnapshot(call, &csi.DeleteSnapshotRequest{SnapshotId: one.Status.Handle}); err != nil {
			n.failed(ctx, cluster.SnapshotContents, &one.ObjectMeta, one.Status.Error, "SnapshotDeleteError", "Failed to delete snapshot: "+err.Error())
			return err
		}
	}
	return n.SetFinalizers(ctx, cluster.SnapshotContents, &one.ObjectMeta, without(one.Finalizers, cluster.ContentFinalizer), nil)
}
