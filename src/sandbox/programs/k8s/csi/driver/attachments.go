package driver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"kvshoot.io/sandbox/kubernetes/csi/cluster"
)

// ControllerPublishVolume hotplugs the volume into a node's VM, and keeps it in the VM's spec.
func (d *driver) ControllerPublishVolume(ctx context.Context, request *csi.ControllerPublishVolumeRequest) (*csi.ControllerPublishVolumeResponse, error) {
	if request.VolumeId == "" || request.NodeId == "" || request.VolumeCapability == nil {
		return nil, status.Error(codes.InvalidArgument, "volume id, node id or volume capability missing in request")
	}
	if _, err := d.volume(ctx, request.VolumeId); err != nil {
		return nil, err
	}
	machine, err := machineOf(request.NodeId)
	if err != nil {
		return nil, err
	}
	if !many(request.VolumeCapability) {
		if err := d.single(ctx, request.VolumeId, machine); err != nil {
			return nil, err
		}
	}
	options := map[string]any{
		"name":         request.VolumeId,
		"disk":         map[string]any{"serial": request.VolumeContext["serial"], "disk": map[string]any{"bus": request.VolumeContext["bus"]}},
		"volumeSource": map[string]any{"dataVolume": map[string]any{"name": request.VolumeId}},
	}
	err = d.retried(ctx, func(ctx context.Context) error {
		plugged, err := d.plugged(ctx, cluster.VirtualMachines, machine, request.VolumeId)
		if err != nil || plugged {
			return err
		}
		return d.subresource(ctx, "virtualmachines", machine, "addvolume", options)
	})
	if err != nil {
		return nil, fmt.Errorf("plug %s into %s: %w", request.VolumeId, machine, err)
	}
	err = wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		phase, err := d.phase(ctx, machine, request.VolumeId)
		return phase == "Ready", err
	})
	if err != nil {
		return nil, fmt.Errorf("volume %s did not become ready in %s: %w", request.VolumeId, machine, err)
	}
	return &csi.ControllerPublishVolumeResponse{}, nil
}

func (d *driver) ControllerUnpublishVolume(ctx context.Context, request *csi.ControllerUnpublishVolumeRequest) (*csi.ControllerUnpublishVolumeResponse, error) {
	if request.VolumeId == "" || request.NodeId == "" {
		return nil, status.Error(codes.InvalidArgument, "volume id or node id missing in request")
	}
	machine, err := machineOf(request.NodeId)
	if err != nil {
		return nil, err
	}
	err = d.retried(ctx, func(ctx context.Context) error { return d.unplug(ctx, machine, request.VolumeId) })
	if err != nil {
		return nil, fmt.Errorf("unplug %s from %s: %w", request.VolumeId, machine, err)
	}
	err = wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		phase, err := d.phase(ctx, machine, request.VolumeId)
		if err != nil && !apierrors.IsNotFound(err) || phase != "" {
			return false, cluster.IgnoreNotFound(err)
		}
		plugged, err := d.plugged(ctx, cluster.VirtualMachines, machine, request.VolumeId)
		return !plugged, cluster.IgnoreNotFound(err)
	})
	if err != nil {
		return nil, fmt.Errorf("volume %s did not leave %s: %w", request.VolumeId, machine, err)
	}
	return &csi.ControllerUnpublishVolumeResponse{}, nil
}

// unplug removes the volume from the VM, or from the VMI if only that has it.
func (d *driver) unplug(ctx context.Context, machine, volume string) error {
	options := map[string]any{"name": volume}
	for _, kind := range []schema.GroupVersionResource{cluster.VirtualMachines, cluster.VirtualMachineInstances} {
		plugged, err := d.plugged(ctx, kind, machine, volume)
		if err := cluster.IgnoreNotFound(err); err != nil {
			return err
		}
		if plugged {
			return d.subresource(ctx, kind.Resource, machine, "removevolume", options)
		}
	}
	return nil
}

// machineOf returns the VM of a node ID, namespace/name. The namespace is ignored, because all VMs
// are in the driver's.
func machineOf(node string) (string, error) {
	_, name, ok := strings.Cut(node, "/")
	if !ok || name == "" {
		return "", status.Errorf(codes.InvalidArgument, "node id %q is not namespace/name", node)
	}
	return name, nil
}

// single returns an error if another VM has the volume.
func (d *driver) single(ctx context.Context, volume, machine string) error {
	list, err := d.infra.Resource(cluster.VirtualMachineInstances).Namespace(d.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, vmi := range list.Items {
		if vmi.GetName() != machine && named(vmi.Object, volume, "status", "volumeStatus") != nil {
			return status.Errorf(codes.FailedPrecondition, "volume %s is in use by %s", volume, vmi.GetName())
		}
	}
	return nil
}

// plugged reports whether the spec of a VM or VMI has the volume.
func (d *driver) plugged(ctx context.Context, kind schema.GroupVersionResource, machine, volume string) (bool, error) {
	object, err := d.infra.Resource(kind).Namespace(d.namespace).Get(ctx, machine, metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	path := []string{"spec", "volumes"}
	if kind == cluster.VirtualMachines {
		path = []string{"spec", "template", "spec", "volumes"}
	}
	return named(object.Object, volume, path...) != nil, nil
}

// phase returns the volume's phase in the VMI's status, or "" if it is not there.
func (d *driver) phase(ctx context.Context, machine, volume string) (string, error) {
	vmi, err := d.infra.Resource(cluster.VirtualMachineInstances).Namespace(d.namespace).Get(ctx, machine, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	one := named(vmi.Object, volume, "status", "volumeStatus")
	if one == nil {
		return "", nil
	}
	phase, _ := one["phase"].(string)
	return phase, nil
}

func named(object map[string]any, name string, path ...string) map[string]any {
	list, _, _ := unstructured.NestedSlice(object, path...)
	for _, item := range list {
		if one, ok := item.(map[string]any); ok && one["name"] == name {
			return one
		}
	}
	return nil
}

// subresource calls a subresource of KubeVirt's API, which only returns success or an error.
func (d *driver) subresource(ctx context.Context, kind, machine, verb string, options map[string]any) error {
	body, err := json.Marshal(options)
	if err != nil {
		return err
	}
	path := fmt.Sprintf("/apis/subresources.kubevirt.io/v1/namespaces/%s/%s/%s/%s", d.namespace, kind, machine, verb)
	return d.ask(ctx, http.MethodPut, path, body)
}

// retried tries five times, because of conflicts with other changes of the VM.
func (d *driver) retried(ctx context.Context, step func(context.Context) error) error {
	var last error
	err := wait.ExponentialBackoffWithContext(ctx, wait.Backoff{Duration: poll, Factor: 2, Steps: 5}, func(ctx context.Context) (bool, error) {
		if last = step(ctx); last != nil {
			klog.ErrorS(last, "will try again")
		}
		return last == nil, nil
	})
	if err != nil && last != nil {
		return last
	}
	return err
}
