package kubelet

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

// createCSINode creates the object that lists the node's CSI drivers.
func (n *Node) createCSINode(ctx context.Context) error {
	node := n.current()
	_, err := n.client.StorageV1().CSINodes().Create(ctx, &storage.CSINode{ObjectMeta: metav1.ObjectMeta{
		Name: n.name, OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: n.name, UID: node.UID}},
	}}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// registerDriver does what kubelet does when a driver's socket appears.
func (n *Node) registerDriver(ctx context.Context, registrar *v1.Container) error {
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

// driverID returns the name of the node for the KubeVirt driver, which is the namespace and
// name of its VM. It is read where the driver reads it: from the providerID and an annotation,
// or from two annotations.
func (n *Node) driverID(ctx context.Context) (string, error) {
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
		return "", fmt.Errorf("kubevirt-csi-driver: node %s does not identify its VM: annotation cluster.x-k8s.io/cluster-namespace is missing", n.name)
	}
	return namespace + "/" + name, nil
}
