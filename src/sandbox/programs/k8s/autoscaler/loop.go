package autoscaler

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"
)

// toBeDeleted is the taint of a node that is about to be removed.
const toBeDeleted = "ToBeDeletedByClusterAutoscaler"

// loop is what one loop remembers for the next.
type loop struct {
	settings
	client   kubernetes.Interface
	provider *provider
	// When a node was first seen empty, by name.
	empty map[string]time.Time
	// When the size of a group was last increased, by ID.
	increased map[string]time.Time
	// Times of the last change of any group.
	added, deleted time.Time
}

// state is what one loop sees.
type state struct {
	groups []*groupState
	nodes  []v1.Node
	// Pods by the name of their node; pods without one have the empty name.
	pods map[string][]v1.Pod
}

type groupState struct {
	group
	target    int
	instances []instance
	nodes     []v1.Node
}

func newLoop(s settings, client kubernetes.Interface, provider *provider) *loop {
	return &loop{settings: s, client: client, provider: provider, empty: map[string]time.Time{}, increased: map[string]time.Time{}}
}

// once does what the program's loop does, in its order.
func (l *loop) once(ctx context.Context) error {
	if err := l.provider.refresh(ctx); err != nil {
		return err
	}
	s, err := l.look(ctx)
	if err != nil {
		return err
	}
	if changed, err := l.fixSizes(ctx, s); changed || err != nil {
		return err
	}
	if changed, err := l.scaleUp(ctx, s); changed || err != nil {
		return err
	}
	return l.scaleDown(ctx, s)
}

func (l *loop) look(ctx context.Context) (*state, error) {
	groups, err := l.provider.groups(ctx)
	if err != nil {
		return nil, err
	}
	s := &state{pods: map[string][]v1.Pod{}}
	byID := map[string]*groupState{}
	for _, g := range groups {
		one := &groupState{group: g}
		if one.target, err = l.provider.targetSize(ctx, g.id); err != nil {
			return nil, err
		}
		if one.instances, err = l.provider.instances(ctx, g.id); err != nil {
			return nil, err
		}
		s.groups, byID[g.id] = append(s.groups, one), one
	}
	nodes, err := l.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, err
	}
	s.nodes = nodes.Items
	for _, node := range s.nodes {
		id, err := l.provider.groupOf(ctx, &node)
		if err != nil {
			return nil, err
		}
		if g := byID[id]; g != nil {
			g.nodes = append(g.nodes, node)
		}
	}
	pods, err := l.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, err
	}
	for _, pod := range pods.Items {
		if pod.Status.Phase != v1.PodSucceeded && pod.Status.Phase != v1.PodFailed {
			s.pods[pod.Spec.NodeName] = append(s.pods[pod.Spec.NodeName], pod)
		}
	}
	return s, nil
}

// fixSizes deletes machines that could not be created, and takes back requests for machines
// that did not appear.
func (l *loop) fixSizes(ctx context.Context, s *state) (changed bool, err error) {
	for _, g := range s.groups {
		for _, i := range g.instances {
			if i.state == instanceCreating && i.errorCode != "" {
				klog.InfoS("delete a machine that could not be created", "group", g.id, "instance", i.id, "error", i.errorCode)
				return true, l.provider.deleteNode(ctx, g.id, i.id, i.id)
			}
		}
		missing := g.target - g.staying()
		if missing > 0 && time.Since(l.increased[g.id]) > l.maxProvision {
			klog.InfoS("machines did not appear", "group", g.id, "number", missing)
			return true, l.provider.decrease(ctx, g.id, missing)
		}
	}
	return false, nil
}

// staying is the number of machines that are not being deleted.
func (g *groupState) staying() int {
	count := 0
	for _, i := range g.instances {
		if i.state != instanceDeleting {
			count++
		}
	}
	return count
}

// scaleUp adds nodes for pods that no node, and no node to come, has room for.
func (l *loop) scaleUp(ctx context.Context, s *state) (bool, error) {
	pending := unschedulable(s.pods[""])
	if len(pending) == 0 {
		return false, nil
	}
	rooms, err := l.rooms(ctx, s)
	if err != nil {
		return false, err
	}
	more := rooms.place(pending, l.balance)
	for id, count := range more {
		klog.InfoS("scale up", "group", id, "nodes", count)
		if err := l.provider.increase(ctx, id, count); err != nil {
			return false, err
		}
		l.increased[id], l.added = time.Now(), time.Now()
	}
	return len(more) > 0, nil
}

// rooms returns what is free on nodes, and will be on nodes to come, and a node that would be
// next in each group.
func (l *loop) rooms(ctx context.Context, s *state) (*rooms, error) {
	all := &rooms{}
	for i := range s.nodes {
		if node := &s.nodes[i]; isReady(node) && !isLeaving(node) && !node.Spec.Unschedulable {
			all.there = append(all.there, roomOf(node, s.pods[node.Name]))
		}
	}
	for _, g := range s.groups {
		template, err := l.template(ctx, s, g)
		if err != nil {
			return nil, err
		}
		ready := 0
		for _, node := range g.nodes {
			if isReady(&node) {
				ready++
			}
		}
		one := &roomGroup{id: g.id, size: g.target, max: g.max, template: template}
		for range max(0, g.target-ready) {
			all.there = append(all.there, template.copy())
		}
		all.groups = append(all.groups, one)
	}
	return all, nil
}

// template is a new node of a group: like one that it has, with the pods of DaemonSets alone, or
// the one that the provider describes.
func (l *loop) template(ctx context.Context, s *state, g *groupState) (*room, error) {
	for _, node := range g.nodes {
		if isReady(&node) && !isLeaving(&node) {
			return roomOf(&node, daemons(s.pods[node.Name])), nil
		}
	}
	node, err := l.provider.template(ctx, g.id)
	if err != nil {
		return nil, err
	}
	return roomOf(node, nil), nil
}

// scaleDown removes a node that has been empty for long enough.
func (l *loop) scaleDown(ctx context.Context, s *state) error {
	seen := map[string]time.Time{}
	defer func() { l.empty = seen }()
	for _, g := range s.groups {
		for _, node := range g.nodes {
			if len(daemons(s.pods[node.Name])) < len(s.pods[node.Name]) {
				continue
			}
			since, ok := l.empty[node.Name]
			if !ok {
				since = time.Now()
			}
			seen[node.Name] = since
			if time.Since(since) < l.unneeded || time.Since(l.added) < l.delayAfterAdd || time.Since(l.deleted) < l.delayAfterDelete || g.target <= g.min || isLeaving(&node) {
				continue
			}
			klog.InfoS("scale down", "group", g.id, "node", node.Name)
			if err := l.taint(ctx, &node); err != nil {
				return err
			}
			if err := l.provider.deleteNode(ctx, g.id, node.Spec.ProviderID, node.Name); err != nil {
				// Otherwise the node would count as one that is being deleted from now on.
				return errors.Join(err, l.untaint(ctx, node.Name))
			}
			l.deleted = time.Now()
			return nil
		}
	}
	return nil
}

func (l *loop) taint(ctx context.Context, node *v1.Node) error {
	node = node.DeepCopy()
	now := strconv.FormatInt(time.Now().Unix(), 10)
	node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: toBeDeleted, Value: now, Effect: v1.TaintEffectNoSchedule})
	_, err := l.client.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
	return err
}

// untaint tries again after errors: a taint that stays would keep the node for ever.
func (l *loop) untaint(ctx context.Context, name string) error {
	mayPass := func(err error) bool { return ctx.Err() == nil && !apierrors.IsNotFound(err) }
	patient := wait.Backoff{Duration: 50 * time.Millisecond, Factor: 2, Steps: 8}
	return retry.OnError(patient, mayPass, func() error {
		node, err := l.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(it v1.Taint) bool { return it.Key == toBeDeleted })
		_, err = l.client.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
		return err
	})
}

func isLeaving(node *v1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key == toBeDeleted {
			return true
		}
	}
	return node.DeletionTimestamp != nil
}

func isReady(node *v1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == v1.NodeReady {
			return condition.Status == v1.ConditionTrue
		}
	}
	return false
}

// daemons are the pods that every node has.
func daemons(pods []v1.Pod) []v1.Pod {
	var all []v1.Pod
	for _, pod := range pods {
		owner := metav1.GetControllerOf(&pod)
		_, isMirror := pod.Annotations[v1.MirrorPodAnnotationKey]
		if isMirror || owner != nil && owner.Kind == "DaemonSet" {
			all = append(all, pod)
		}
	}
	return all
}

// unschedulable are the pods for which the scheduler has found no node.
func unschedulable(pods []v1.Pod) []*v1.Pod {
	var all []*v1.Pod
	for i := range pods {
		for _, condition := range pods[i].Status.Conditions {
			if condition.Type == v1.PodScheduled && condition.Status == v1.ConditionFalse && condition.Reason == v1.PodReasonUnschedulable {
				all = append(all, &pods[i])
			}
		}
	}
	return all
}
