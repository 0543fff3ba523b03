package pods

import (
	"context"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// report writes the pod's status if it has changed.
func (w *worker) report(ctx context.Context, pod *v1.Pod) error {
	changed := pod.DeepCopy()
	w.describe(changed)
	if equality.Semantic.DeepEqual(pod.Status, changed.Status) {
		return nil
	}
	written, err := w.r.Client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) {
		// The last write may be our own, not yet seen by the informer.
		written, err = w.r.Client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	}
	if apierrors.IsNotFound(err) || err == nil && written.UID != w.uid {
		w.abandon()
		return nil
	}
	if err != nil {
		return err
	}
	w.lock.Lock()
	if newer(written, w.pod) {
		w.pod = written
	}
	w.lock.Unlock()
	w.r.changed()
	return nil
}

// describe fills in the status as kubelet does.
func (w *worker) describe(pod *v1.Pod) {
	status := &pod.Status
	status.ObservedGeneration = pod.Generation
	if status.StartTime == nil {
		now := metav1.Now()
		status.StartTime = &now
		status.HostIP = w.r.HostIP(pod.Spec.NodeName)
		status.HostIPs = []v1.HostIP{{IP: status.HostIP}}
	}
	if w.mounted && status.PodIP == "" {
		status.PodIP = w.r.PodIPs.Next()
		status.PodIPs = []v1.PodIP{{IP: status.PodIP}}
	}
	status.InitContainerStatuses, status.ContainerStatuses = nil, nil
	var unready, incomplete []string
	for _, c := range w.containers {
		one := w.containerStatus(pod, c)
		if c.init {
			status.InitContainerStatuses = append(status.InitContainerStatuses, one)
			if !c.done() && !w.initialized {
				incomplete = append(incomplete, c.name)
			}
		} else {
			status.ContainerStatuses = append(status.ContainerStatuses, one)
		}
		if (!c.init || c.sidecar) && !one.Ready {
			unready = append(unready, c.name)
		}
	}
	if status.Phase != v1.PodSucceeded && status.Phase != v1.PodFailed {
		status.Phase = w.phase()
	}
	reason, message := "", ""
	if len(incomplete) > 0 {
		reason, message = "ContainersNotInitialized", fmt.Sprintf("containers with incomplete status: [%s]", strings.Join(incomplete, " "))
	}
	setCondition(pod, v1.PodReadyToStartContainers, w.mounted, "", "")
	setCondition(pod, v1.PodInitialized, len(incomplete) == 0 && w.mounted, reason, message)
	reason, message = "", ""
	switch {
	case status.Phase == v1.PodSucceeded:
		reason = "PodCompleted"
	case len(unready) > 0:
		reason, message = "ContainersNotReady", fmt.Sprintf("containers with unready status: [%s]", strings.Join(unready, " "))
	}
	ready := reason == "" && w.initialized
	setCondition(pod, v1.ContainersReady, ready, reason, message)
	setCondition(pod, v1.PodReady, ready, reason, message)
}

func (w *worker) containerStatus(pod *v1.Pod, c *container) v1.ContainerStatus {
	spec := w.spec(pod, c)
	started := c.process != nil && c.started
	one := v1.ContainerStatus{
		Name: c.name, Image: spec.Image, ImageID: spec.Image, State: c.state, LastTerminationState: c.last,
		RestartCount: c.restarts, Started: &started, Ready: started && c.ready,
	}
	if c.init && !c.sidecar {
		one.Ready = c.done()
	}
	if c.ran || c.last.Terminated != nil {
		one.ContainerID = c.id(w)
	}
	return one
}

// phase returns the pod's phase by kubelet's rules.
func (w *worker) phase() v1.PodPhase {
	if !w.initialized {
		for _, c := range w.containers {
			if c.init && c.state.Terminated != nil && !c.done() && !c.restartable() {
				return v1.PodFailed
			}
		}
		return v1.PodPending
	}
	running, waiting, failed := 0, 0, 0
	always := false
	for _, c := range w.containers {
		if c.init {
			continue
		}
		always = always || c.policy == v1.RestartPolicyAlways
		switch {
		case c.process != nil:
			running++
		case c.state.Terminated != nil && !c.restartable():
			if c.state.Terminated.ExitCode != 0 {
				failed++
			}
		case c.ran:
			running++
		default:
			waiting++
		}
	}
	switch {
	case waiting > 0:
		return v1.PodPending
	case running > 0 || always:
		return v1.PodRunning
	case failed > 0:
		return v1.PodFailed
	}
	return v1.PodSucceeded
}

// setCondition sets a condition; its transition time changes only with its status.
func setCondition(pod *v1.Pod, kind v1.PodConditionType, holds bool, reason, message string) {
	next := v1.PodCondition{Type: kind, Status: v1.ConditionFalse, Reason: reason, Message: message, ObservedGeneration: pod.Generation, LastTransitionTime: metav1.Now()}
	if holds {
		next.Status = v1.ConditionTrue
	}
	for i := range pod.Status.Conditions {
		old := &pod.Status.Conditions[i]
		if old.Type != kind {
			continue
		}
		if old.Status == next.Status {
			next.LastTransitionTime = old.LastTransitionTime
		}
		*old = next
		return
	}
	pod.Status.Conditions = append(pod.Status.Conditions, next)
}

// newer reports whether a is a later version of the pod than b.
func newer(a, b *v1.Pod) bool {
	order, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion)
	return err != nil || order > 0
}
