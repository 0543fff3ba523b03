package kubelet

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	coordination "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/certificate"
	cloud "k8s.io/cloud-provider/api"
	helper "k8s.io/component-helpers/node/util"
	"k8s.io/utils/ptr"

	"kvshoot.io/sandbox/kubernetes/guest/kubeletconfig"
	"kvshoot.io/sandbox/kubernetes/guest/machine"
)

// Node is the kubelet of a machine.
type Node struct {
	*kubeletconfig.Settings
	machine *machine.Machine
	name    string
	rest    *rest.Config
	// Transport of its client.
	transport *replaceable
	client    kubernetes.Interface

	lock sync.Mutex
	// Who it is since it was last started.
	identity *identity
	// The Node as last read or written.
	last     *v1.Node
	stopping bool
	// The Node existed before this boot of the machine.
	rebooted bool
	pods     *podManager
	api      *kubeletServer
	// Requests the serving certificate; nil if it is self-signed.
	servingManager certificate.Manager
}

// New finds the node's name and gets a client certificate for it. It waits for the
// certificate to be signed.
func New(m *machine.Machine, settings *kubeletconfig.Settings) (*Node, error) {
	name := settings.Flags.HostnameOverride
	if name == "" {
		data, err := m.ReadFile("/etc/hostname")
		if err != nil {
			return nil, err
		}
		name = string(data)
	}
	name = strings.ToLower(strings.TrimSpace(name))
	own, err := identify(m, settings, name)
	if err != nil {
		return nil, err
	}
	transport := &replaceable{}
	transport.replace(own.config.Transport)
	own.config.Transport = transport
	client, err := kubernetes.NewForConfig(own.config)
	if err != nil {
		return nil, err
	}
	return &Node{Settings: settings, machine: m, name: name, identity: own, rest: own.config, transport: transport, client: client}, nil
}

// Run registers the node and runs its pods until the machine stops. It returns the error that
// kubelet would exit with.
func (n *Node) Run() error {
	m := n.machine
	var err error
	if n.api, err = n.serve(); err != nil {
		return err
	}
	for wait := 100 * time.Millisecond; !n.register(m.Context); wait = min(2*wait, 7*time.Second) {
		if !m.Wait(wait) {
			return nil
		}
	}
	m.Print("kubelet: successfully registered node " + n.name)
	if err := n.createCSINode(m.Context); err != nil {
		m.Print("kubelet: failed to initialize CSINode: " + err.Error())
	}
	pods := n.runPods()
	n.lock.Lock()
	n.pods = pods
	n.lock.Unlock()
	go n.lease()
	go n.requestServingCertificate()
	go n.renewAuthorities()
	n.heartbeat()
	return nil
}

// register creates the Node, or updates the existing one.
func (n *Node) register(ctx context.Context) bool {
	node := n.initial()
	made, err := n.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err == nil {
		n.remember(made)
		return true
	}
	if !apierrors.IsAlreadyExists(err) {
		n.machine.Warn(warningReason(err), fmt.Errorf("kubelet: unable to register node %s with API server: %w", n.name, err))
		return false
	}
	old, err := n.client.CoreV1().Nodes().Get(ctx, n.name, metav1.GetOptions{})
	if err != nil {
		n.machine.Warn(warningReason(err), fmt.Errorf("kubelet: unable to register node %s with API server: %w", n.name, err))
		return false
	}
	n.rebooted = old.Status.NodeInfo.BootID != "" && old.Status.NodeInfo.BootID != string(n.machine.VMI.GetUID())
	changed := old.DeepCopy()
	if changed.Labels == nil {
		changed.Labels = map[string]string{}
	}
	if changed.Annotations == nil {
		changed.Annotations = map[string]string{}
	}
	// kubelet only updates these labels of an existing Node.
	for _, label := range []string{v1.LabelHostname, v1.LabelOSStable, v1.LabelArchStable, "beta.kubernetes.io/os", "beta.kubernetes.io/arch",
		v1.LabelTopologyZone, v1.LabelTopologyRegion, v1.LabelInstanceTypeStable} {
		if value, ok := node.Labels[label]; ok {
			changed.Labels[label] = value
		}
	}
	const attach = "volumes.kubernetes.io/controller-managed-attach-detach"
	changed.Annotations[attach] = node.Annotations[attach]
	if _, _, err := helper.PatchNodeStatus(n.client.CoreV1(), types.NodeName(n.name), old, changed); err != nil {
		n.machine.Warn("RegistrationFailed", fmt.Errorf("kubelet: unable to reconcile node %s: %w", n.name, err))
		return false
	}
	n.remember(changed)
	return true
}

// warningReason distinguishes errors of the API server from errors reaching it.
func warningReason(err error) string {
	if apierrors.ReasonForError(err) == metav1.StatusReasonUnknown {
		return machine.Unreachable
	}
	return "RegistrationFailed"
}

// initial returns the Node that kubelet creates.
func (n *Node) initial() *v1.Node {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: n.name,
		Labels: map[string]string{
			v1.LabelHostname: n.name, v1.LabelOSStable: "linux", v1.LabelArchStable: "amd64",
			"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64",
		},
		Annotations: map[string]string{},
	}}
	if n.Config.EnableControllerAttachDetach {
		node.Annotations["volumes.kubernetes.io/controller-managed-attach-detach"] = "true"
	}
	for key, value := range n.Flags.NodeLabels {
		node.Labels[key] = value
	}
	node.Spec.Taints = append(node.Spec.Taints, n.Config.RegisterWithTaints...)
	if n.external() {
		node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: cloud.TaintExternalCloudProvider, Value: "true", Effect: v1.TaintEffectNoSchedule})
	}
	node.Spec.ProviderID = n.Config.ProviderID
	n.setStatus(node)
	return node
}

func (n *Node) external() bool { return n.Flags.CloudProvider == "external" }

// heartbeat writes the status when it has changed, and at the report frequency.
func (n *Node) heartbeat() {
	reported := time.Time{}
	for {
		if err := n.updateStatus(&reported); err != nil && n.machine.Context.Err() == nil {
			n.machine.PrintChange("status", "kubelet: error updating node status, will retry: "+err.Error())
		}
		// Like kubelet, it updates more often until the node is ready.
		pause := n.Config.NodeStatusUpdateFrequency.Duration
		if !n.ready() {
			pause = 500 * time.Millisecond
		}
		if !n.machine.Wait(pause) {
			return
		}
	}
}

func (n *Node) updateStatus(reported *time.Time) error {
	if err := n.machine.Disconnected(); err != nil {
		return err
	}
	old, err := n.client.CoreV1().Nodes().Get(n.machine.Context, n.name, metav1.GetOptions{ResourceVersion: "0"})
	if apierrors.IsNotFound(err) {
		// The Node was deleted. A running kubelet does not create it again.
		return err
	}
	if err != nil {
		return err
	}
	changed := old.DeepCopy()
	n.setStatus(changed)
	if equalStatus(&old.Status, &changed.Status) && time.Since(*reported) < n.Config.NodeStatusReportFrequency.Duration {
		n.remember(old)
		return nil
	}
	written, _, err := helper.PatchNodeStatus(n.client.CoreV1(), types.NodeName(n.name), old, changed)
	if err != nil {
		return err
	}
	*reported = time.Now()
	was := n.ready()
	n.remember(written)
	if !was && n.ready() {
		n.machine.Print("kubelet: node is ready")
	}
	return nil
}

func (n *Node) remember(node *v1.Node) {
	n.lock.Lock()
	n.last = node
	n.lock.Unlock()
}

func (n *Node) current() *v1.Node {
	n.lock.Lock()
	defer n.lock.Unlock()
	return n.last
}

func (n *Node) podManager() *podManager {
	n.lock.Lock()
	defer n.lock.Unlock()
	return n.pods
}

func (n *Node) ready() bool {
	for _, condition := range n.current().Status.Conditions {
		if condition.Type == v1.NodeReady {
			return condition.Status == v1.ConditionTrue
		}
	}
	return false
}

// lease renews the Lease four times within its duration.
func (n *Node) lease() {
	leases := n.client.CoordinationV1().Leases(v1.NamespaceNodeLease)
	seconds := n.Config.NodeLeaseDurationSeconds
	var last *coordination.Lease
	for {
		if n.machine.Disconnected() == nil {
			last = n.renew(leases, last, seconds)
		}
		if !n.machine.Wait(time.Duration(seconds) * time.Second / 4) {
			return
		}
	}
}

func (n *Node) renew(leases typed.LeaseInterface, last *coordination.Lease, seconds int32) *coordination.Lease {
	ctx := n.machine.Context
	var err error
	if last == nil {
		last, err = leases.Get(ctx, n.name, metav1.GetOptions{})
	}
	if apierrors.IsNotFound(err) {
		node := n.current()
		last, err = leases.Create(ctx, &coordination.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: n.name, OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "Node", Name: n.name, UID: node.UID,
			}}},
			Spec: coordination.LeaseSpec{HolderIdentity: &n.name, LeaseDurationSeconds: &seconds, RenewTime: ptr.To(metav1.NowMicro())},
		}, metav1.CreateOptions{})
	} else if err == nil {
		next := last.DeepCopy()
		next.Spec.HolderIdentity, next.Spec.LeaseDurationSeconds, next.Spec.RenewTime = &n.name, &seconds, ptr.To(metav1.NowMicro())
		last, err = leases.Update(ctx, next, metav1.UpdateOptions{})
	}
	if err != nil {
		if ctx.Err() == nil {
			n.machine.PrintChange("lease", "kubelet: failed to update lease, will retry: "+err.Error())
		}
		return nil
	}
	return last
}

// Shutdown reports the node as not ready if graceful shutdown is configured, and stops kubelet's
// server.
func (n *Node) Shutdown() {
	n.lock.Lock()
	n.stopping = true
	n.lock.Unlock()
	if n.Config.ShutdownGracePeriod.Duration > 0 && n.current() != nil {
		done := make(chan struct{})
		go func() {
			defer close(done)
			reported := time.Time{}
			_ = n.updateStatus(&reported)
		}()
		select {
		case <-done:
		case <-time.After(2 * time.Second):
		}
	}
	if n.api != nil {
		n.api.close()
	}
}
