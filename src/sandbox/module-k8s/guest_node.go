package main

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
	cloud "k8s.io/cloud-provider/api"
	helper "k8s.io/component-helpers/node/util"
	"k8s.io/utils/ptr"
)

// node is a guest's kubelet once it has a name.
type node struct {
	*settings
	guest *guest
	name  string
	rest  *rest.Config
	// Where the API server is and who vouches for it, without an identity.
	server *rest.Config
	client kubernetes.Interface

	lock sync.Mutex
	// As last seen or written.
	last     *v1.Node
	stopping bool
	// The node was there before this start of the machine.
	rebooted bool
	pods     *nodePods
	api      *kubeletServer
}

// kubelet runs until the machine ends; an error is what kubelet ends with.
func (g *guest) kubelet(s *settings) error {
	name := s.flags.HostnameOverride
	if name == "" {
		data, err := g.read("/etc/hostname")
		if err != nil {
			return err
		}
		name = string(data)
	}
	name = strings.ToLower(strings.TrimSpace(name))
	config, server, err := g.identify(s, name)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	n := &node{settings: s, guest: g, name: name, rest: config, server: server, client: client}
	g.lock.Lock()
	g.node = n
	g.lock.Unlock()
	if n.api, err = n.serve(); err != nil {
		return err
	}
	for wait := 100 * time.Millisecond; !n.register(g.ctx); wait = min(2*wait, 7*time.Second) {
		if !g.wait(wait) {
			return nil
		}
	}
	g.say("kubelet: successfully registered node " + name)
	if err := n.csiNode(g.ctx); err != nil {
		g.say("kubelet: failed to initialize CSINode: " + err.Error())
	}
	pods := n.runPods()
	n.lock.Lock()
	n.pods = pods
	n.lock.Unlock()
	go n.lease()
	n.heartbeat()
	return nil
}

// register makes the Node, or takes over the one that is there.
func (n *node) register(ctx context.Context) bool {
	node := n.initial()
	made, err := n.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err == nil {
		n.see(made)
		return true
	}
	if !apierrors.IsAlreadyExists(err) {
		n.guest.warn(why(err), fmt.Errorf("kubelet: unable to register node %s with API server: %w", n.name, err))
		return false
	}
	old, err := n.client.CoreV1().Nodes().Get(ctx, n.name, metav1.GetOptions{})
	if err != nil {
		n.guest.warn(why(err), fmt.Errorf("kubelet: unable to register node %s with API server: %w", n.name, err))
		return false
	}
	n.rebooted = old.Status.NodeInfo.BootID != "" && old.Status.NodeInfo.BootID != string(n.guest.vmi.GetUID())
	changed := old.DeepCopy()
	if changed.Labels == nil {
		changed.Labels = map[string]string{}
	}
	if changed.Annotations == nil {
		changed.Annotations = map[string]string{}
	}
	// Only these follow kubelet on a node that is there already.
	for _, label := range []string{v1.LabelHostname, v1.LabelOSStable, v1.LabelArchStable, "beta.kubernetes.io/os", "beta.kubernetes.io/arch",
		v1.LabelTopologyZone, v1.LabelTopologyRegion, v1.LabelInstanceTypeStable} {
		if value, ok := node.Labels[label]; ok {
			changed.Labels[label] = value
		}
	}
	const attach = "volumes.kubernetes.io/controller-managed-attach-detach"
	changed.Annotations[attach] = node.Annotations[attach]
	if _, _, err := helper.PatchNodeStatus(n.client.CoreV1(), types.NodeName(n.name), old, changed); err != nil {
		n.guest.warn("RegistrationFailed", fmt.Errorf("kubelet: unable to reconcile node %s: %w", n.name, err))
		return false
	}
	n.see(changed)
	return true
}

// why tells a server that answers from one that is away.
func why(err error) string {
	if apierrors.ReasonForError(err) == metav1.StatusReasonUnknown {
		return unreachable
	}
	return "RegistrationFailed"
}

// initial is the Node as kubelet first writes it.
func (n *node) initial() *v1.Node {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: n.name,
		Labels: map[string]string{
			v1.LabelHostname: n.name, v1.LabelOSStable: "linux", v1.LabelArchStable: "amd64",
			"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64",
		},
		Annotations: map[string]string{},
	}}
	if n.config.EnableControllerAttachDetach {
		node.Annotations["volumes.kubernetes.io/controller-managed-attach-detach"] = "true"
	}
	for key, value := range n.flags.NodeLabels {
		node.Labels[key] = value
	}
	node.Spec.Taints = append(node.Spec.Taints, n.config.RegisterWithTaints...)
	if n.external() {
		node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: cloud.TaintExternalCloudProvider, Value: "true", Effect: v1.TaintEffectNoSchedule})
	}
	node.Spec.ProviderID = n.config.ProviderID
	n.setStatus(node)
	return node
}

func (n *node) external() bool { return n.flags.CloudProvider == "external" }

// heartbeat writes the status when it has changed, and now and then anyway.
func (n *node) heartbeat() {
	reported := time.Time{}
	for {
		if err := n.beat(&reported); err != nil && n.guest.ctx.Err() == nil {
			n.guest.note("status", "kubelet: error updating node status, will retry: "+err.Error())
		}
		// Until it is ready it looks more often, as kubelet does.
		pause := n.config.NodeStatusUpdateFrequency.Duration
		if !n.ready() {
			pause = 500 * time.Millisecond
		}
		if !n.guest.wait(pause) {
			return
		}
	}
}

func (n *node) beat(reported *time.Time) error {
	if err := n.guest.cut(); err != nil {
		return err
	}
	old, err := n.client.CoreV1().Nodes().Get(n.guest.ctx, n.name, metav1.GetOptions{ResourceVersion: "0"})
	if apierrors.IsNotFound(err) {
		// Somebody deleted it. A kubelet that runs does not make it anew.
		return err
	}
	if err != nil {
		return err
	}
	changed := old.DeepCopy()
	n.setStatus(changed)
	if same(&old.Status, &changed.Status) && time.Since(*reported) < n.config.NodeStatusReportFrequency.Duration {
		n.see(old)
		return nil
	}
	written, _, err := helper.PatchNodeStatus(n.client.CoreV1(), types.NodeName(n.name), old, changed)
	if err != nil {
		return err
	}
	*reported = time.Now()
	was := n.ready()
	n.see(written)
	if !was && n.ready() {
		n.guest.say("kubelet: node is ready")
	}
	return nil
}

func (n *node) see(node *v1.Node) {
	n.lock.Lock()
	n.last = node
	n.lock.Unlock()
}

func (n *node) seen() *v1.Node {
	n.lock.Lock()
	defer n.lock.Unlock()
	return n.last
}

func (n *node) podsHere() *nodePods {
	n.lock.Lock()
	defer n.lock.Unlock()
	return n.pods
}

func (n *node) ready() bool {
	for _, condition := range n.seen().Status.Conditions {
		if condition.Type == v1.NodeReady {
			return condition.Status == v1.ConditionTrue
		}
	}
	return false
}

// lease renews the Lease four times in its life.
func (n *node) lease() {
	leases := n.client.CoordinationV1().Leases(v1.NamespaceNodeLease)
	seconds := n.config.NodeLeaseDurationSeconds
	var last *coordination.Lease
	for {
		if n.guest.cut() == nil {
			last = n.renew(leases, last, seconds)
		}
		if !n.guest.wait(time.Duration(seconds) * time.Second / 4) {
			return
		}
	}
}

func (n *node) renew(leases typed.LeaseInterface, last *coordination.Lease, seconds int32) *coordination.Lease {
	ctx := n.guest.ctx
	var err error
	if last == nil {
		last, err = leases.Get(ctx, n.name, metav1.GetOptions{})
	}
	if apierrors.IsNotFound(err) {
		node := n.seen()
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
			n.guest.note("lease", "kubelet: failed to update lease, will retry: "+err.Error())
		}
		return nil
	}
	return last
}

// shutdown tells the API server that the machine ends, where kubelet is told
// to do so.
func (n *node) shutdown() {
	n.lock.Lock()
	n.stopping = true
	n.lock.Unlock()
	if n.config.ShutdownGracePeriod.Duration > 0 && n.seen() != nil {
		done := make(chan struct{})
		go func() {
			defer close(done)
			reported := time.Time{}
			_ = n.beat(&reported)
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
