package simulator

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kvshoot.io/sandbox/kubernetes/faults"
)

// reconcilePod does the work of a kubelet: bound pods run, one-shot pods succeed, deleted pods
// are removed. Pods of control planes are passed to the runner.
func (s *simulator) reconcilePod(ctx context.Context, pod *v1.Pod) (time.Duration, error) {
	if pod.Spec.NodeName == "" {
		return 0, nil
	}
	if s.runner.Runs(pod) {
		s.runner.Update(ctx, pod)
		return 0, nil
	}
	pods := s.client.CoreV1().Pods(pod.Namespace)
	if pod.DeletionTimestamp != nil {
		// virt-launcher ends with its machine.
		if s.guests.IsEnding(types.UID(pod.Labels["kubevirt.io/created-by"])) {
			return shutdownPoll, nil
		}
		now := int64(0)
		return 0, pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &pod.UID}})
	}
	outcome, delay := faults.FromAnnotations(pod.Annotations)
	if outcome == "hang" {
		return 0, nil
	}
	if wait := delay - time.Since(pod.CreationTimestamp.Time); wait > 0 {
		return wait, nil
	}
	oneShot := pod.Spec.RestartPolicy != v1.RestartPolicyAlways && pod.Labels["kubevirt.io"] == ""
	switch {
	case pod.Status.Phase == v1.PodPending && !oneShot:
		return 0, s.writePodStatus(ctx, pod, v1.PodRunning)
	case pod.Status.Phase == v1.PodPending || pod.Status.Phase == v1.PodRunning && oneShot:
		if outcome == "fail" {
			return 0, s.writePodStatus(ctx, pod, v1.PodFailed)
		}
		return 0, s.writePodStatus(ctx, pod, v1.PodSucceeded)
	}
	return 0, nil
}

func (s *simulator) writePodStatus(ctx context.Context, old *v1.Pod, phase v1.PodPhase) error {
	pod := old.DeepCopy()
	now := metav1.Now()
	status := &pod.Status
	status.Phase = phase
	status.ObservedGeneration = pod.Generation
	if status.StartTime == nil {
		status.StartTime = &now
		status.HostIP = s.hostIP(pod.Spec.NodeName)
		status.HostIPs = []v1.HostIP{{IP: status.HostIP}}
		status.PodIP = s.podIPs.Next()
		if pod.Spec.HostNetwork {
			status.PodIP = status.HostIP
		}
		status.PodIPs = []v1.PodIP{{IP: status.PodIP}}
	}
	ready := v1.ConditionTrue
	reason := ""
	if phase != v1.PodRunning {
		ready, reason = v1.ConditionFalse, "PodCompleted"
	}
	for _, kind := range []v1.PodConditionType{v1.PodReadyToStartContainers, v1.PodInitialized, v1.ContainersReady, v1.PodReady} {
		condition := v1.PodCondition{Type: kind, Status: v1.ConditionTrue, LastTransitionTime: now, ObservedGeneration: pod.Generation}
		if kind == v1.PodReady || kind == v1.ContainersReady {
			condition.Status, condition.Reason = ready, reason
		}
		replaced := false
		for i := range status.Conditions {
			if status.Conditions[i].Type == kind {
				status.Conditions[i], replaced = condition, true
			}
		}
		if !replaced {
			status.Conditions = append(status.Conditions, condition)
		}
	}
	ended := func(code int32) v1.ContainerState {
		reason := "Completed"
		if code != 0 {
			reason = "Error"
		}
		return v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: code, Reason: reason, StartedAt: *status.StartTime, FinishedAt: now}}
	}
	running := v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: *status.StartTime}}
	list := func(containers []v1.Container, init bool) []v1.ContainerStatus {
		out := []v1.ContainerStatus{}
		for _, c := range containers {
			started := phase == v1.PodRunning
			one := v1.ContainerStatus{Name: c.Name, Image: c.Image, ImageID: c.Image, ContainerID: "sim://" + string(pod.UID) + "/" + c.Name, Ready: started, Started: &started, State: running}
			sidecar := init && c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
			switch {
			case init && !sidecar || phase == v1.PodSucceeded:
				one.State = ended(0)
				one.Ready = init
			case phase == v1.PodFailed:
				one.State = ended(1)
			}
			out = append(out, one)
		}
		return out
	}
	status.InitContainerStatuses = list(pod.Spec.InitContainers, true)
	status.ContainerStatuses = list(pod.Spec.Containers, false)
	_, err := s.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return err
}
