package kubelet

import (
	"crypto/md5"
	"fmt"
	"net"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	cloud "k8s.io/cloud-provider/api"
)

const noNetwork = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized"

var template = regexp.MustCompile(`(?m)^\s*conf_template\s*=\s*["']([^"']+)["']`)

// setStatus writes kubelet's part of the status, and keeps the rest.
func (n *Node) setStatus(node *v1.Node) {
	n.setAddresses(node)
	node.Status.Capacity, node.Status.Allocatable = n.resources()
	uid := string(n.machine.VMI.GetUID())
	node.Status.NodeInfo = v1.NodeSystemInfo{
		MachineID: fmt.Sprintf("%x", md5.Sum([]byte(n.machine.Root))), BootID: uid, SystemUUID: firmwareUUID(n.machine.VMI),
		KernelVersion: "6.12.0-sandbox", OSImage: "Sandbox Linux 1", ContainerRuntimeVersion: "containerd://2.3.2",
		KubeletVersion: n.Version, OperatingSystem: "linux", Architecture: "amd64",
	}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = n.Config.Port
	now := metav1.Now()
	for _, one := range []struct {
		kind            v1.NodeConditionType
		reason, message string
	}{
		{v1.NodeMemoryPressure, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"},
		{v1.NodeDiskPressure, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
		{v1.NodePIDPressure, "KubeletHasSufficientPID", "kubelet has sufficient PID available"},
	} {
		setCondition(node, v1.NodeCondition{Type: one.kind, Status: v1.ConditionFalse, Reason: one.reason, Message: one.message, LastHeartbeatTime: now})
	}
	ready := v1.NodeCondition{Type: v1.NodeReady, Status: v1.ConditionTrue, Reason: "KubeletReady", Message: "kubelet is posting ready status", LastHeartbeatTime: now}
	n.lock.Lock()
	stopping := n.stopping
	n.lock.Unlock()
	switch {
	case stopping:
		ready.Status, ready.Reason, ready.Message = v1.ConditionFalse, "KubeletNotReady", "node is shutting down"
	case !n.networkReady(node):
		ready.Status, ready.Reason, ready.Message = v1.ConditionFalse, "KubeletNotReady", noNetwork
	}
	setCondition(node, ready)
}

func setCondition(node *v1.Node, condition v1.NodeCondition) {
	condition.LastTransitionTime = condition.LastHeartbeatTime
	for i, old := range node.Status.Conditions {
		if old.Type != condition.Type {
			continue
		}
		if old.Status == condition.Status {
			condition.LastTransitionTime = old.LastTransitionTime
		}
		node.Status.Conditions[i] = condition
		return
	}
	node.Status.Conditions = append(node.Status.Conditions, condition)
}

// equalStatus compares everything but the heartbeat times.
func equalStatus(a, b *v1.NodeStatus) bool {
	a, b = a.DeepCopy(), b.DeepCopy()
	for _, status := range []*v1.NodeStatus{a, b} {
		for i := range status.Conditions {
			status.Conditions[i].LastHeartbeatTime = metav1.Time{}
		}
	}
	return equality.Semantic.DeepEqual(a, b)
}

// setAddresses sets the node's addresses, unless a cloud provider does.
func (n *Node) setAddresses(node *v1.Node) {
	first, _, _ := strings.Cut(n.Flags.NodeIP, ",")
	asked := net.ParseIP(first)
	unspecified := asked != nil && asked.IsUnspecified()
	if node.Annotations == nil {
		node.Annotations = map[string]string{}
	}
	if n.external() && asked != nil && !unspecified {
		node.Annotations[cloud.AnnotationAlphaProvidedIPAddr] = n.Flags.NodeIP
	} else {
		delete(node.Annotations, cloud.AnnotationAlphaProvidedIPAddr)
	}
	hostname := v1.NodeAddress{Type: v1.NodeHostName, Address: n.name}
	switch {
	case n.external() && len(node.Status.Addresses) > 0:
	case n.external() && asked == nil:
		node.Status.Addresses = []v1.NodeAddress{hostname}
	default:
		address := n.machine.Address
		if asked != nil && !unspecified {
			address = first
		}
		node.Status.Addresses = []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: address}, hostname}
	}
}

// networkReady reports whether containerd has a network configuration.
func (n *Node) networkReady(node *v1.Node) bool {
	for _, pattern := range []string{"*.conf", "*.conflist", "*.json"} {
		if found, _ := filepath.Glob(n.machine.Path("/etc/cni/net.d/" + pattern)); len(found) > 0 {
			return true
		}
	}
	if node.Spec.PodCIDR != "" {
		found := false
		n.machine.EachFile("/etc/containerd", func(_ string, data []byte) {
			if match := template.FindSubmatch(data); match != nil && n.machine.Exists(string(match[1])) {
				found = true
			}
		})
		if found {
			return true
		}
	}
	pods := n.podManager()
	return pods != nil && pods.plugin(node)
}

// resources returns the machine's capacity, and what is left of it after reservations.
func (n *Node) resources() (capacity, allocatable v1.ResourceList) {
	domain := func(path ...string) string {
		text, _, _ := unstructured.NestedString(n.machine.VMI.Object, append([]string{"spec", "domain"}, path...)...)
		return text
	}
	count := int64(1)
	for _, part := range []string{"cores", "sockets", "threads"} {
		if number, ok, _ := unstructured.NestedInt64(n.machine.VMI.Object, "spec", "domain", "cpu", part); ok && number > 0 {
			count *= number
		}
	}
	memory := resource.MustParse("1Gi")
	for _, text := range []string{domain("memory", "guest"), domain("resources", "requests", "memory")} {
		if quantity, err := resource.ParseQuantity(text); err == nil {
			memory = quantity
			break
		}
	}
	disk := n.machine.RootDisk()
	if disk.IsZero() {
		disk = resource.MustParse("20Gi")
	}
	capacity = v1.ResourceList{
		v1.ResourceCPU: *resource.NewQuantity(count, resource.DecimalSI), v1.ResourceMemory: memory,
		v1.ResourceEphemeralStorage: disk, v1.ResourcePods: *resource.NewQuantity(int64(n.Config.MaxPods), resource.DecimalSI),
		"hugepages-1Gi": resource.MustParse("0"), "hugepages-2Mi": resource.MustParse("0"),
	}
	allocatable = v1.ResourceList{}
	for name, quantity := range capacity {
		left := quantity.DeepCopy()
		for _, kept := range []string{n.Config.KubeReserved[string(name)], n.Config.SystemReserved[string(name)], n.evictionThreshold(name, quantity)} {
			if amount, err := resource.ParseQuantity(kept); err == nil {
				left.Sub(amount)
			}
		}
		if left.Sign() < 0 {
			left = resource.MustParse("0")
		}
		allocatable[name] = left
	}
	return capacity, allocatable
}

// evictionThreshold returns the amount of a resource below which pods are evicted.
func (n *Node) evictionThreshold(name v1.ResourceName, capacity resource.Quantity) string {
	signal := map[v1.ResourceName]string{v1.ResourceMemory: "memory.available", v1.ResourceEphemeralStorage: "nodefs.available"}[name]
	text := n.Config.EvictionHard[signal]
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		share, err := strconv.ParseFloat(percent, 64)
		if err != nil {
			return ""
		}
		return strconv.FormatInt(int64(float64(capacity.Value())*share/100), 10)
	}
	return text
}

func firmwareUUID(vmi *unstructured.Unstructured) string {
	uuid, _, _ := unstructured.NestedString(vmi.Object, "spec", "domain", "firmware", "uuid")
	if uuid == "" {
		return string(types.UID(vmi.GetUID()))
	}
	return uuid
}
