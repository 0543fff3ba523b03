package main

import (
	"context"
	"fmt"
	"path"
	"strings"

	v1 "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
)

// csiNode makes the object that tells which volumes the node can have.
func (n *node) csiNode(ctx context.Context) error {
	node := n.seen()
	_, err := n.client.StorageV1().CSINodes().Create(ctx, &storage.CSINode{ObjectMeta: metav1.ObjectMeta{
		Name: n.name, OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: n.name, UID: node.UID}},
	}}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// registerDriver does what kubelet does when a driver's socket appears. What
// the KubeVirt driver calls the node is read where it reads it.
func (n *node) registerDriver(ctx context.Context, registrar *v1.Container) error {
	name := ""
	for _, word := range append(append([]string{}, registrar.Command...), registrar.Args...) {
		if socket, ok := strings.CutPrefix(word, "--kubelet-registration-path="); ok {
			name = path.Base(path.Dir(socket))
		}
	}
	if name == "" {
		return fmt.Errorf("%s: --kubelet-registration-path is not set", registrar.Name)
	}
	id, err := n.driverID(ctx)
	if err != nil {
		return err
	}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		node, err := n.client.StorageV1().CSINodes().Get(ctx, n.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, driver := range node.Spec.Drivers {
			if driver.Name == name && driver.NodeID == id {
				return nil
			}
		}
		kept := []storage.CSINodeDriver{{Name: name, NodeID: id}}
		for _, driver := range node.Spec.Drivers {
			if driver.Name != name {
				kept = append(kept, driver)
			}
		}
		node.Spec.Drivers = kept
		_, err = n.client.StorageV1().CSINodes().Update(ctx, node, metav1.UpdateOptions{})
		return err
	})
}

// driverID is the machine's namespace and name, of the Node's providerID and
// annotation, or of two annotations.
func (n *node) driverID(ctx context.Context) (string, error) {
	node, err := n.client.CoreV1().Nodes().Get(ctx, n.name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	name, ours := strings.CutPrefix(node.Spec.ProviderID, "kubevirt://")
	namespace := node.Annotations["cluster.x-k8s.io/cluster-namespace"]
	if !ours {
		name, namespace = node.Annotations["csi.kubevirt.io/infra-vm-name"], node.Annotations["csi.kubevirt.io/infra-vm-namespace"]
	}
	if name == "" || namespace == "" {
		return "", fmt.Errorf("kubevirt-csi-driver: node %s does not tell its machine: annotation cluster.x-k8s.io/cluster-namespace is missing", n.name)
	}
	return namespace + "/" + name, nil
}
