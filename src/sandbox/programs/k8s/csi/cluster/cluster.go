// Package cluster reads and writes objects of an API server without typed clients.
package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

// Kind returns a kind of objects, by its plural name.
func Kind(group, version, name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: name}
}

// The kinds that the programs use.
var (
	Claims                  = Kind("", "v1", "persistentvolumeclaims")
	Volumes                 = Kind("", "v1", "persistentvolumes")
	Nodes                   = Kind("", "v1", "nodes")
	events                  = Kind("", "v1", "events")
	StorageClasses          = Kind("storage.k8s.io", "v1", "storageclasses")
	CSINodes                = Kind("storage.k8s.io", "v1", "csinodes")
	Attachments             = Kind("storage.k8s.io", "v1", "volumeattachments")
	Leases                  = Kind("coordination.k8s.io", "v1", "leases")
	Snapshots               = Kind("snapshot.storage.k8s.io", "v1", "volumesnapshots")
	SnapshotContents        = Kind("snapshot.storage.k8s.io", "v1", "volumesnapshotcontents")
	SnapshotClasses         = Kind("snapshot.storage.k8s.io", "v1", "volumesnapshotclasses")
	DataVolumes             = Kind("cdi.kubevirt.io", "v1beta1", "datavolumes")
	VirtualMachines         = Kind("kubevirt.io", "v1", "virtualmachines")
	VirtualMachineInstances = Kind("kubevirt.io", "v1", "virtualmachineinstances")
)

// Cluster is a client for an API server. Typed clients would double the memory of a program.
type Cluster struct {
	dynamic.Interface
	Config *rest.Config
}

// Connect reads a kubeconfig; without one it connects to the cluster that the pod runs in.
func Connect(kubeconfig string) (Cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return Cluster{}, err
	}
	client, err := dynamic.NewForConfig(config)
	return Cluster{client, config}, err
}

// Decode converts an object to a type.
func Decode[T any](object *unstructured.Unstructured) (*T, error) {
	typed := new(T)
	return typed, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed)
}

// Get reads an object.
func Get[T any](ctx context.Context, c Cluster, kind schema.GroupVersionResource, namespace, name string) (*T, error) {
	object, err := c.Resource(kind).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return Decode[T](object)
}

// Encode converts a typed object for the dynamic client.
func Encode(typed any, version, kind string) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{Object: content}
	object.SetAPIVersion(version)
	object.SetKind(kind)
	return object, nil
}

// Patch merges a change into an object or its subresources.
func (c Cluster) Patch(ctx context.Context, kind schema.GroupVersionResource, namespace, name string, change map[string]any, subresources ...string) error {
	body, err := json.Marshal(change)
	if err != nil {
		return err
	}
	_, err = c.Resource(kind).Namespace(namespace).Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{}, subresources...)
	return err
}

// SetFinalizers replaces the finalizers of an object, unless it was changed since it was read.
func (c Cluster) SetFinalizers(ctx context.Context, kind schema.GroupVersionResource, object *metav1.ObjectMeta, list []string, more map[string]any) error {
	metadata := map[string]any{"finalizers": list, "resourceVersion": object.ResourceVersion}
	for key, value := range more {
		metadata[key] = value
	}
	return c.Patch(ctx, kind, object.Namespace, object.Name, map[string]any{"metadata": metadata})
}

// Event creates an event of an object. Errors are only logged.
func (c Cluster) Event(ctx context.Context, from, kind string, object *metav1.ObjectMeta, severity, reason, message string) {
	namespace := object.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	now := metav1.Now().UTC().Format(time.RFC3339)
	_, err := c.Resource(events).Namespace(namespace).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Event",
		"metadata": map[string]any{"name": fmt.Sprintf("%s.%x", object.Name, time.Now().UnixNano()), "namespace": namespace},
		"involvedObject": map[string]any{
			"apiVersion": "v1", "kind": kind, "namespace": object.Namespace, "name": object.Name, "uid": string(object.UID),
		},
		"type": severity, "reason": reason, "message": message, "firstTimestamp": now, "lastTimestamp": now, "count": int64(1),
		"source": map[string]any{"component": from}, "reportingComponent": from,
	}}, metav1.CreateOptions{})
	if err != nil {
		klog.ErrorS(err, "cannot write an event", "reason", reason, "object", object.Name)
	}
}

// IgnoreNotFound returns nil for an error that an object does not exist.
func IgnoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
