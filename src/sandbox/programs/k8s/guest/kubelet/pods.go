package kubelet

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"kvshoot.io/sandbox/kubernetes/controller"
	"kvshoot.io/sandbox/kubernetes/faults"
)

// podManager runs the pods of a node. Pods have no processes, except for the few that the
// cluster depends on.
type podManager struct {
	node  *Node
	store cache.Store

	lock      sync.Mutex
	ips       map[types.UID]string
	workloads map[types.UID]*workload
	known     map[string]map[string]time.Time
	waits     map[types.UID]string
	since     map[types.UID]time.Time

	services services
}

// runPods follows the pods that are bound to the node, with the node's own credentials.
func (n *Node) runPods() *podManager {
	p := &podManager{node: n, ips: map[types.UID]string{}, workloads: map[types.UID]*workload{}, known: map[string]map[string]time.Time{}, waits: map[types.UID]string{}, since: map[types.UID]time.Time{}}
	factory := informers.NewSharedInformerFactoryWithOptions(n.client, 0, informers.WithTweakListOptions(func(options *metav1.ListOptions) {
		options.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", n.name).String()
	}))
	informer := factory.Core().V1().Pods().Informer()
	p.store = informer.GetStore()
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(object any) {
		if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = unknown.Obj
		}
		if pod, ok := object.(*v1.Pod); ok {
			p.end(pod.UID)
		}
	}})
	controller.Start(n.machine.Context, informer, 2, p.sync)
	factory.Start(n.machine.Context.Done())
	go func() {
		<-n.machine.Context.Done()
		p.lock.Lock()
		defer p.lock.Unlock()
		for _, act := range p.workloads {
			act.end()
		}
	}()
	return p
}

// sync does the next step in the life of a pod.
func (p *podManager) sync(ctx context.Context, pod *v1.Pod) (time.Duration, error) {
	if p.node.machine.Disconnected() != nil {
		return time.Second, nil
	}
	switch {
	case pod.DeletionTimestamp != nil:
		p.end(pod.UID)
		options := metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0)), Preconditions: &metav1.Preconditions{UID: &pod.UID}}
		return 0, p.node.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, options)
	case pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed:
		p.end(pod.UID)
		return 0, nil
	case pod.Status.Phase == v1.PodRunning && pod.Status.PodIP != "":
		return p.syncRunning(ctx, pod)
	}
	outcome, delay := faults.FromAnnotations(pod.Annotations)
	if wait := delay - time.Since(pod.CreationTimestamp.Time); wait > 0 {
		return wait, nil
	}
	if outcome == "hang" {
		return 0, nil
	}
	node, err := p.node.withPodCIDR(ctx)
	if err != nil {
		return time.Second, err
	}
	if !pod.Spec.HostNetwork && !p.node.networkReady(node) {
		return 500 * time.Millisecond, p.reportWaiting(ctx, pod, "NetworkNotReady", noNetwork)
	}
	if err := p.checkReferences(ctx, pod); err != nil {
		return p.retryLater(ctx, pod, "FailedMount", err)
	}
	if node.Spec.PodCIDR == "" && time.Since(node.CreationTimestamp.Time) < 5*time.Second && !pod.Spec.HostNetwork {
		return 200 * time.Millisecond, nil
	}
	ip := p.allocateIP(pod, node)
	started, err := p.start(ctx, pod, ip)
	if err != nil {
		return p.retryLater(ctx, pod, "Failed", err)
	}
	started.reported = true
	phase := v1.PodRunning
	if pod.Spec.RestartPolicy != v1.RestartPolicyAlways {
		phase = v1.PodSucceeded
		if outcome == "fail" {
			phase = v1.PodFailed
		}
	}
	next := startedPod(pod, phase, p.node.hostIP(), ip, started.ready == nil || started.ready())
	_, err = p.node.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, next, metav1.UpdateOptions{})
	return 0, err
}

// syncRunning probes a running pod.
func (p *podManager) syncRunning(ctx context.Context, pod *v1.Pod) (time.Duration, error) {
	ip := pod.Status.PodIP
	if pod.Spec.HostNetwork {
		ip = p.node.hostIP()
	}
	started, err := p.start(ctx, pod, ip)
	if err != nil {
		return 0, err
	}
	again := p.node.rebooted && !started.reported
	ready := started.ready == nil || started.ready()
	known := slices.ContainsFunc(pod.Status.Conditions, func(one v1.PodCondition) bool {
		return one.Type == v1.PodReady && one.Status == v1.ConditionTrue
	})
	if ready != known || again || ip != pod.Status.PodIP {
		next := startedPod(pod, v1.PodRunning, p.node.hostIP(), ip, ready)
		if again {
			countRestart(next)
		}
		// A refused update, for example of a stale pod, is repeated with the restart.
		if _, err = p.node.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, next, metav1.UpdateOptions{}); err == nil {
			started.reported = true
		}
	}
	switch {
	case started.ready == nil:
		return 0, err
	case ready:
		return 5 * time.Second, err
	}
	return 500 * time.Millisecond, err
}

// withPodCIDR returns the node. It reads the node again while it has no pod CIDR.
func (n *Node) withPodCIDR(ctx context.Context) (*v1.Node, error) {
	if node := n.current(); node.Spec.PodCIDR != "" {
		return node, nil
	}
	node, err := n.client.CoreV1().Nodes().Get(ctx, n.name, metav1.GetOptions{})
	if err == nil {
		n.remember(node)
	}
	return node, err
}

// allocateIP returns a free address of the node's pod CIDR.
func (p *podManager) allocateIP(pod *v1.Pod, node *v1.Node) string {
	if pod.Spec.HostNetwork {
		return p.node.hostIP()
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	if ip := p.ips[pod.UID]; ip != "" {
		return ip
	}
	used := map[string]bool{}
	for _, ip := range p.ips {
		used[ip] = true
	}
	for _, object := range p.store.List() {
		used[object.(*v1.Pod).Status.PodIP] = true
	}
	// Plugins with their own address management do not report the range to kubelet.
	prefix, err := netip.ParsePrefix(node.Spec.PodCIDR)
	if err != nil {
		prefix = netip.MustParsePrefix("100.127.0.0/16")
	}
	for address := prefix.Addr().Next().Next(); prefix.Contains(address); address = address.Next() {
		if ip := address.String(); !used[ip] {
			p.ips[pod.UID] = ip
			return ip
		}
	}
	return ""
}

// retryLater reports why a pod cannot start yet. The API server's node authorizer learns of the
// pod a moment later than the node, so it does not report such errors at first.
func (p *podManager) retryLater(ctx context.Context, pod *v1.Pod, reason string, err error) (time.Duration, error) {
	p.lock.Lock()
	since, seen := p.since[pod.UID]
	if !seen {
		since = time.Now()
		p.since[pod.UID] = since
	}
	p.lock.Unlock()
	if apierrors.IsForbidden(err) && time.Since(since) < 5*time.Second {
		return 100 * time.Millisecond, nil
	}
	return time.Second, p.reportWaiting(ctx, pod, reason, err.Error())
}

// reportWaiting reports why a pod does not start, once for each reason.
func (p *podManager) reportWaiting(ctx context.Context, pod *v1.Pod, reason, message string) error {
	p.lock.Lock()
	known := p.waits[pod.UID] == reason+message
	p.lock.Unlock()
	if known {
		return nil
	}
	if _, err := p.node.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pendingPod(pod, p.node.hostIP()), metav1.UpdateOptions{}); err != nil {
		return err
	}
	p.node.machine.Print(fmt.Sprintf("kubelet: pod %s/%s: %s: %s", pod.Namespace, pod.Name, reason, message))
	p.node.event(ctx, pod, reason, message)
	p.lock.Lock()
	defer p.lock.Unlock()
	p.waits[pod.UID] = reason + message
	return nil
}

// end stops what runs for a pod.
func (p *podManager) end(uid types.UID) {
	p.lock.Lock()
	defer p.lock.Unlock()
	if act := p.workloads[uid]; act != nil {
		act.end()
	}
	delete(p.workloads, uid)
	delete(p.ips, uid)
	delete(p.waits, uid)
	delete(p.since, uid)
}

func (n *Node) hostIP() string { return n.machine.Address }

// event creates one of kubelet's events in the shoot.
func (n *Node) event(ctx context.Context, pod *v1.Pod, reason, message string) {
	now := metav1.Now()
	_, _ = n.client.CoreV1().Events(pod.Namespace).Create(ctx, &v1.Event{
		ObjectMeta:     metav1.ObjectMeta{GenerateName: pod.Name + ".", Namespace: pod.Namespace},
		InvolvedObject: v1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Type:           v1.EventTypeWarning, Reason: reason, Message: message, Count: 1, FirstTimestamp: now, LastTimestamp: now,
		Source: v1.EventSource{Component: "kubelet", Host: n.name}, ReportingController: "kubelet", ReportingInstance: n.name,
	}, metav1.CreateOptions{})
}
