package autoscaler

import (
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	podresource "k8s.io/component-helpers/resource"
	corev1 "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// startup are taints that a node loses once it is initialized.
var startup = map[string]bool{
	"node.cloudprovider.kubernetes.io/uninitialized": true,
	v1.TaintNodeNotReady:                             true,
	v1.TaintNodeNetworkUnavailable:                   true,
	v1.TaintNodeUnreachable:                          true,
}

// room is a node, and what is free on it.
type room struct {
	node *v1.Node
	free v1.ResourceList
}

type roomGroup struct {
	id        string
	size, max int
	template  *room
}

// rooms are nodes that have room, or will have it, and nodes that do not exist yet.
type rooms struct {
	there  []*room
	groups []*roomGroup
}

// roomOf is a new node like this one, with the pods that every node has.
func roomOf(node *v1.Node, pods []v1.Pod) *room {
	r := &room{node: node, free: node.Status.Allocatable.DeepCopy()}
	for i := range pods {
		r.take(&pods[i])
	}
	return r
}

func (r *room) copy() *room { return &room{node: r.node, free: r.free.DeepCopy()} }

// requests are the resources of a pod, and the pod itself.
func requests(pod *v1.Pod) v1.ResourceList {
	list := maps.Clone(podresource.PodRequests(pod, podresource.PodResourcesOptions{}))
	if list == nil {
		list = v1.ResourceList{}
	}
	list[v1.ResourcePods] = *resource.NewQuantity(1, resource.DecimalSI)
	return list
}

func (r *room) take(pod *v1.Pod) {
	for name, quantity := range requests(pod) {
		if free, ok := r.free[name]; ok {
			free.Sub(quantity)
			r.free[name] = free
		}
	}
}

func (r *room) fits(pod *v1.Pod) bool {
	for name, quantity := range requests(pod) {
		free, ok := r.free[name]
		if !quantity.IsZero() && (!ok || free.Cmp(quantity) < 0) {
			return false
		}
	}
	counts := func(t *v1.Taint) bool { return t.Effect != v1.TaintEffectPreferNoSchedule && !startup[t.Key] }
	_, refused := corev1.FindMatchingUntoleratedTaint(klog.Background(), r.node.Spec.Taints, pod.Spec.Tolerations, counts, false)
	matches, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(r.node)
	return !refused && matches && err == nil
}

// place returns the number of nodes that each group needs for the pods: of several that would do,
// a node of the smallest.
func (r *rooms) place(pods []*v1.Pod, balance bool) map[string]int {
	more := map[string]int{}
	for _, pod := range pods {
		if r.placeInRoom(pod) {
			continue
		}
		var best *roomGroup
		for _, g := range r.groups {
			if g.size < g.max && g.template.fits(pod) && (best == nil || balance && g.size < best.size) {
				best = g
			}
		}
		if best == nil {
			continue
		}
		next := best.template.copy()
		next.take(pod)
		r.there = append(r.there, next)
		best.size++
		more[best.id]++
	}
	return more
}

func (r *rooms) placeInRoom(pod *v1.Pod) bool {
	for _, room := range r.there {
		if room.fits(pod) {
			room.take(pod)
			return true
		}
	}
	return false
}
