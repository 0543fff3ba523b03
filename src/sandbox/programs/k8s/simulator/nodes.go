package simulator

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"

	"kvshoot.io/sandbox/kubernetes/pods"
)

const (
	region = "sandbox"
	// The name that faults use for nodes without a zone.
	zoneless = "default"
)

// node is a node of the provider cluster; zone is empty for one without topology labels.
type node struct {
	name, zone, address string
}

// fleet returns count nodes spread over the zones, and nodes without a zone.
func fleet(count int, zones []string, bare int) []node {
	nodes := make([]node, 0, count+bare)
	address := func() string { return fmt.Sprintf("192.0.2.%d", len(nodes)+1) }
	for i := range count {
		zone := zones[i%len(zones)]
		nodes = append(nodes, node{fmt.Sprintf("infra-%s-%d", zone, i/len(zones)+1), zone, address()})
	}
	for i := range bare {
		nodes = append(nodes, node{fmt.Sprintf("infra-%d", i+1), "", address()})
	}
	return nodes
}

// hostIP returns the address that the pods of a node report as their host's. The Node has
// its kubelet's loopback address, which EndpointSlices would refuse.
func (s *simulator) hostIP(node string) string {
	for i, one := range s.nodes {
		if one.name == node {
			return fmt.Sprintf("192.0.2.%d", i+1)
		}
	}
	return "192.0.2.254"
}

// join creates the nodes and renews their leases.
func (s *simulator) join(ctx context.Context) error {
	for _, n := range s.nodes {
		if err := s.register(ctx, n); err != nil {
			return err
		}
	}
	s.renewLeases(ctx)
	go func() {
		for ctx.Err() == nil {
			time.Sleep(10 * time.Second)
			s.renewLeases(ctx)
		}
	}()
	return nil
}

func (s *simulator) register(ctx context.Context, node node) error {
	labels := map[string]string{
		"kubernetes.io/hostname": node.name, "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux",
		"kubevirt.io/schedulable": "true", "machine-type.node.kubevirt.io/q35": "true",
		"node-role.kubernetes.io/worker": "",
	}
	if node.zone != "" {
		labels["topology.kubernetes.io/region"] = region
		labels["topology.kubernetes.io/zone"] = node.zone
	}
	_, err := s.client.CoreV1().Nodes().Create(ctx, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: node.name, Labels: labels}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	// The node controller writes taints at the same time.
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error { return s.writeStatus(ctx, node) })
}

func (s *simulator) writeStatus(ctx context.Context, node node) error {
	current, err := s.client.CoreV1().Nodes().Get(ctx, node.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	capacity, allocatable := s.resources(node)
	current.Status = v1.NodeStatus{
		DaemonEndpoints: v1.NodeDaemonEndpoints{KubeletEndpoint: v1.DaemonEndpoint{Port: pods.KubeletPort}},
		Capacity:        capacity, Allocatable: allocatable,
		Addresses:  []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: node.address}, {Type: v1.NodeHostName, Address: node.name}},
		Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, Reason: "Simulated", LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()}},
	}
	_, err = s.client.CoreV1().Nodes().UpdateStatus(ctx, current, metav1.UpdateOptions{})
	return err
}

// resources returns a node's capacity and allocatable resources. With the fault no-room, its
// zone has no allocatable CPU and memory.
func (s *simulator) resources(node node) (capacity, allocatable v1.ResourceList) {
	capacity, allocatable = v1.ResourceList{}, v1.ResourceList{}
	zone := node.zone
	if zone == "" {
		zone = zoneless
	}
	full := s.faults.Matches("no-room", zone)
	for key, value := range map[v1.ResourceName]string{
		"cpu": "256", "memory": "2Ti", "pods": "1000", "ephemeral-storage": "10Ti",
		"hugepages-2Mi": "64Gi", "hugepages-1Gi": "64Gi",
		"devices.kubevirt.io/kvm": "1k", "devices.kubevirt.io/tun": "1k", "devices.kubevirt.io/vhost-net": "1k",
	} {
		capacity[key] = resource.MustParse(value)
		allocatable[key] = capacity[key]
		if full && (key == v1.ResourceCPU || key == v1.ResourceMemory) {
			allocatable[key] = resource.MustParse("0")
		}
	}
	return capacity, allocatable
}

// updateNodes writes the resources of every node, and retries until that succeeds.
func (s *simulator) updateNodes(ctx context.Context) {
	for _, n := range s.nodes {
		for ctx.Err() == nil {
			err := s.register(ctx, n)
			if err == nil {
				break
			}
			klog.ErrorS(err, "cannot update the node", "node", n.name)
			time.Sleep(100 * time.Millisecond)
		}
	}
}

func (s *simulator) renewLeases(ctx context.Context) {
	leases := s.client.CoordinationV1().Leases("kube-node-lease")
	now := metav1.NowMicro().Format("2006-01-02T15:04:05.000000Z07:00")
	force := true
	for _, n := range s.nodes {
		patch := fmt.Sprintf(`{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":%q},"spec":{"holderIdentity":%q,"leaseDurationSeconds":40,"renewTime":%q}}`,
			n.name, n.name, now)
		if _, err := leases.Patch(ctx, n.name, types.ApplyPatchType, []byte(patch), metav1.PatchOptions{FieldManager: "simulator", Force: &force}); err != nil {
			klog.ErrorS(err, "cannot renew the node's lease", "node", n.name)
		}
	}
}
