package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	cloudprovider "k8s.io/cloud-provider"
)

const (
	// Label of a node with the name of its VMI; without it they have the same name.
	instanceID = "node.kubernetes.io/instance-id"
	// Annotation of VMIs with namespaced instance types.
	instanceType = "kubevirt.io/instancetype-name"
	// Only addresses of this interface are published.
	network = "default"
)

var (
	vmis = schema.GroupVersionResource{Group: "kubevirt.io", Version: "v1", Resource: "virtualmachineinstances"}
	// KubeVirt accepts names with dots, which do not match.
	providerID = regexp.MustCompile("^" + providerName + "://([0-9A-Za-z_-]+)$")
)

// instances finds the VMIs of nodes.
type instances struct{ *cloud }

func (i instances) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	name, err := instanceName(node.Spec.ProviderID)
	if err != nil {
		return false, err
	}
	_, err = i.get(ctx, name)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

func (i instances) InstanceShutdown(ctx context.Context, node *v1.Node) (bool, error) {
	name, err := instanceName(node.Spec.ProviderID)
	if err != nil {
		return false, err
	}
	vmi, err := i.get(ctx, name)
	if err != nil {
		return false, err
	}
	switch phase, _, _ := unstructured.NestedString(vmi.Object, "status", "phase"); phase {
	case "Succeeded", "Failed":
		return true, nil
	case "Unknown":
		return false, fmt.Errorf("phase of %s is unknown: its host may be down", name)
	default:
		return false, nil
	}
}

func (i instances) InstanceMetadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	vmi, err := i.find(ctx, node)
	if err != nil {
		return nil, err
	}
	told := &cloudprovider.InstanceMetadata{
		ProviderID:    providerName + "://" + vmi.GetName(),
		InstanceType:  vmi.GetAnnotations()[instanceType],
		NodeAddresses: addresses(vmi, node),
	}
	if i.config.InstancesV2.ZoneAndRegion {
		host, _, _ := unstructured.NestedString(vmi.Object, "status", "nodeName")
		if host == "" {
			return nil, fmt.Errorf("%s is on no node of the infrastructure yet", vmi.GetName())
		}
		infra, err := i.kube.CoreV1().Nodes().Get(ctx, host, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("zone and region of %s: %w", vmi.GetName(), err)
		}
		told.Region, told.Zone = infra.Labels[v1.LabelTopologyRegion], infra.Labels[v1.LabelTopologyZone]
	}
	return told, nil
}

// find returns a node's VMI. The last lookup uses a field selector that VMIs do not support, so the
// API server refuses it; upstream fails there, too.
func (i instances) find(ctx context.Context, node *v1.Node) (*unstructured.Unstructured, error) {
	if name, ok := node.Labels[instanceID]; ok {
		vmi, err := i.get(ctx, name)
		if apierrors.IsNotFound(err) {
			err = cloudprovider.InstanceNotFound
		}
		return vmi, err
	}
	vmi, err := i.get(ctx, node.Name)
	if !apierrors.IsNotFound(err) {
		return vmi, err
	}
	list, err := i.dynamic.Resource(vmis).Namespace(i.namespace).List(ctx, metav1.ListOptions{FieldSelector: "spec.hostname=" + node.Name})
	switch {
	case err != nil:
		return nil, fmt.Errorf("no VMI is named %s, nor can one be found by its host name: %w", node.Name, err)
	case len(list.Items) == 0:
		return nil, cloudprovider.InstanceNotFound
	}
	return &list.Items[0], nil
}

func (i instances) get(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	return i.dynamic.Resource(vmis).Namespace(i.namespace).Get(ctx, name, metav1.GetOptions{})
}

func instanceName(id string) (string, error) {
	match := providerID.FindStringSubmatch(id)
	if match == nil {
		return "", fmt.Errorf("providerID %q is not of the form %s://NAME", id, providerName)
	}
	return match[1], nil
}

// addresses returns the addresses of the interface `default`, or the node's current ones if it has
// none.
func addresses(vmi *unstructured.Unstructured, node *v1.Node) []v1.NodeAddress {
	found := []v1.NodeAddress{}
	interfaces, _, _ := unstructured.NestedSlice(vmi.Object, "status", "interfaces")
	for _, item := range interfaces {
		one, _ := item.(map[string]any)
		if one["name"] != network {
			continue
		}
		first, _, _ := unstructured.NestedString(one, "ipAddress")
		all, _, _ := unstructured.NestedStringSlice(one, "ipAddresses")
		for _, address := range append([]string{first}, all...) {
			next := v1.NodeAddress{Type: v1.NodeInternalIP, Address: address}
			if address != "" && !slices.Contains(found, next) {
				found = append(found, next)
			}
		}
	}
	if len(found) > 0 {
		return found
	}
	for _, address := range node.Status.Addresses {
		if address.Type == v1.NodeInternalIP {
			found = append(found, address)
		}
	}
	return found
}
