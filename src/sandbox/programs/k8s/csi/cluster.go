package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

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

func kindOf(group, version, name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: name}
}

var (
	claims      = kindOf("", "v1", "persistentvolumeclaims")
	volumes     = kindOf("", "v1", "persistentvolumes")
	nodes       = kindOf("", "v1", "nodes")
	events      = kindOf("", "v1", "events")
	classes     = kindOf("storage.k8s.io", "v1", "storageclasses")
	csiNodes    = kindOf("storage.k8s.io", "v1", "csinodes")
	attachments = kindOf("storage.k8s.io", "v1", "volumeattachments")
	leases      = kindOf("coordination.k8s.io", "v1", "leases")
	snapshots   = kindOf("snapshot.storage.k8s.io", "v1", "volumesnapshots")
	contents    = kindOf("snapshot.storage.k8s.io", "v1", "volumesnapshotcontents")
	snapClasses = kindOf("snapshot.storage.k8s.io", "v1", "volumesnapshotclasses")
	dataVolumes = kindOf("cdi.kubevirt.io", "v1beta1", "datavolumes")
	machines    = kindOf("kubevirt.io", "v1", "virtualmachines")
	instances   = kindOf("kubevirt.io", "v1", "virtualmachineinstances")
)

// cluster is an API server. The typed clients would double a program's memory.
type cluster struct {
	dynamic.Interface
	config *rest.Config
}

// connect reads a kubeconfig; without one it is the cluster that the pod runs in.
func connect(kubeconfig string) (cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return cluster{}, err
	}
	client, err := dynamic.NewForConfig(config)
	return cluster{client, config}, err
}

// decode turns what the API server sent into a type.
func decode[T any](object *unstructured.Unstructured) (*T, error) {
	typed := new(T)
	return typed, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed)
}

// get reads one object as it is now.
func get[T any](ctx context.Context, c cluster, kind schema.GroupVersionResource, namespace, name string) (*T, error) {
	object, err := c.Resource(kind).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return decode[T](object)
}

func encode(typed any, version, kind string) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{Object: content}
	object.SetAPIVersion(version)
	object.SetKind(kind)
	return object, nil
}

// patch changes parts of an object; subresources may follow.
func (c cluster) patch(ctx context.Context, kind schema.GroupVersionResource, namespace, name string, change map[string]any, subresources ...string) error {
	body, err := json.Marshal(change)
	if err != nil {
		return err
	}
	_, err = c.Resource(kind).Namespace(namespace).Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{}, subresources...)
	return err
}

// finalizers sets an object's whole list, and only while it is as it was read.
func (c cluster) finalizers(ctx context.Context, kind schema.GroupVersionResource, object *metav1.ObjectMeta, list []string, more map[string]any) error {
	metadata := map[string]any{"finalizers": list, "resourceVersion": object.ResourceVersion}
	for key, value := range more {
		metadata[key] = value
	}
	return c.patch(ctx, kind, object.Namespace, object.Name, map[string]any{"metadata": metadata})
}

// event tells people what happened to an object. That it cannot be told stops nothing.
func (c cluster) event(ctx context.Context, from, kind string, object *metav1.ObjectMeta, severity, reason, message string) {
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
