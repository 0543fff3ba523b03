package kubelet

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pendingPod returns the pod with waiting containers.
func pendingPod(old *v1.Pod, host string) *v1.Pod {
	pod := withStartTime(old, host)
	pod.Status.Phase = v1.PodPending
	conditions(pod, v1.ConditionFalse, "ContainersNotReady")
	waiting := v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "ContainerCreating"}}
	if len(pod.Spec.InitContainers) > 0 {
		waiting.Waiting.Reason = "PodInitializing"
	}
	list := func(containers []v1.Container) []v1.ContainerStatus {
		out := []v1.ContainerStatus{}
		for _, c := range containers {
			started := false
			out = append(out, v1.ContainerStatus{Name: c.Name, Image: c.Image, State: waiting, Started: &started})
		}
		return out
	}
	pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses = list(pod.Spec.InitContainers), list(pod.Spec.Containers)
	return pod
}

// startedPod returns the pod with running or completed containers.
func startedPod(old *v1.Pod, phase v1.PodPhase, host, ip string, ready bool) *v1.Pod {
	pod := withStartTime(old, host)
	pod.Status.Phase = phase
	pod.Status.PodIP, pod.Status.PodIPs = ip, []v1.PodIP{{IP: ip}}
	now := *pod.Status.StartTime
	state := v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: now}}
	ended := func(code int32, reason string) v1.ContainerState {
		return v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: code, Reason: reason, StartedAt: now, FinishedAt: now}}
	}
	switch phase {
	case v1.PodRunning:
		conditions(pod, v1.ConditionTrue, "")
		if !ready {
			conditions(pod, v1.ConditionFalse, "ContainersNotReady")
		}
	case v1.PodFailed:
		state = ended(1, "Error")
		conditions(pod, v1.ConditionFalse, "PodFailed")
	default:
		state = ended(0, "Completed")
		conditions(pod, v1.ConditionFalse, "PodCompleted")
	}
	restarts := map[string]int32{}
	for _, one := range append(append([]v1.ContainerStatus{}, old.Status.InitContainerStatuses...), old.Status.ContainerStatuses...) {
		restarts[one.Name] = one.RestartCount
	}
	list := func(containers []v1.Container, init bool) []v1.ContainerStatus {
		out := []v1.ContainerStatus{}
		for _, c := range containers {
			started := phase == v1.PodRunning
			one := v1.ContainerStatus{
				Name: c.Name, Image: c.Image, ImageID: c.Image, Ready: started && ready, Started: &started, State: state,
				RestartCount: restarts[c.Name], ContainerID: "containerd://" + strings.ReplaceAll(string(pod.UID), "-", "") + "-" + c.Name,
			}
			if sidecar := c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways; init && !sidecar {
				one.State, one.Ready = ended(0, "Completed"), true
			}
			out = append(out, one)
		}
		return out
	}
	pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses = list(pod.Spec.InitContainers, true), list(pod.Spec.Containers, false)
	return pod
}

// countRestart counts a restart of the pod's containers.
func countRestart(pod *v1.Pod) {
	now := metav1.Now()
	for i := range pod.Status.ContainerStatuses {
		one := &pod.Status.ContainerStatuses[i]
		one.RestartCount++
		if running := one.State.Running; running != nil {
			one.LastTerminationState.Terminated = &v1.ContainerStateTerminated{
				ExitCode: 255, Reason: "Unknown", StartedAt: running.StartedAt, FinishedAt: now, ContainerID: one.ContainerID,
			}
			one.State.Running = &v1.ContainerStateRunning{StartedAt: now}
		}
	}
}

func withStartTime(old *v1.Pod, host string) *v1.Pod {
	pod := old.DeepCopy()
	pod.Status.ObservedGeneration = pod.Generation
	pod.Status.HostIP, pod.Status.HostIPs = host, []v1.HostIP{{IP: host}}
	if pod.Status.StartTime == nil {
		now := metav1.Now()
		pod.Status.StartTime = &now
	}
	return pod
}

func conditions(pod *v1.Pod, ready v1.ConditionStatus, reason string) {
	now := metav1.Now()
	for _, kind := range []v1.PodConditionType{v1.PodReadyToStartContainers, v1.PodInitialized, v1.ContainersReady, v1.PodReady} {
		one := v1.PodCondition{Type: kind, Status: v1.ConditionTrue, LastTransitionTime: now, ObservedGeneration: pod.Generation}
		started := pod.Status.Phase != v1.PodPending || kind == v1.PodInitialized && len(pod.Spec.InitContainers) == 0
		if kind == v1.PodReady || kind == v1.ContainersReady || !started {
			one.Status, one.Reason = ready, reason
		}
		replaced := false
		for i, old := range pod.Status.Conditions {
			if old.Type == kind {
				if old.Status == one.Status {
					one.LastTransitionTime = old.LastTransitionTime
				}
				pod.Status.Conditions[i], replaced = one, true
			}
		}
		if !replaced {
			pod.Status.Conditions = append(pod.Status.Conditions, one)
		}
	}
}
