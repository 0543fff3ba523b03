package pods

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"kvshoot.io/sandbox/kubernetes/network"
)

const (
	// As in kubelet with the gate ReduceDefaultCrashLoopBackOffDecay, but with a much
	// shorter maximum.
	firstBackOff = time.Second
	lastBackOff  = 15 * time.Second
	// A container that ran for this long starts with the first back-off again.
	backOffReset = 10 * time.Minute
)

// container is one container of a worker.
type container struct {
	name          string
	number        int
	init, sidecar bool
	policy        v1.RestartPolicy
	log           string

	process *process
	// Offsets in the log between which the previous process wrote.
	before         [2]int64
	state, last    v1.ContainerState
	restarts       int32
	started, ready bool
	backOff        time.Duration
	next           time.Time
	// Duration of the back-off that ends at next.
	delay        time.Duration
	ran, killing bool
	// Grace period of the last kill.
	grace time.Duration
	stop  context.CancelFunc
}

func (w *worker) container(pod *v1.Pod, spec *v1.Container, init bool) *container {
	c := &container{
		name: spec.Name, number: len(w.containers), init: init, policy: pod.Spec.RestartPolicy,
		log: filepath.Join(w.r.Logs, fmt.Sprintf("%s_%s_%s.log", pod.Namespace, pod.Name, spec.Name)),
	}
	if init && spec.RestartPolicy != nil && *spec.RestartPolicy == v1.ContainerRestartPolicyAlways {
		c.sidecar, c.policy = true, v1.RestartPolicyAlways
	} else if init && c.policy == v1.RestartPolicyAlways {
		c.policy = v1.RestartPolicyOnFailure
	}
	c.waiting("ContainerCreating", "")
	if len(pod.Spec.InitContainers) > 0 && !init {
		c.waiting("PodInitializing", "")
	}
	c.restore(pod)
	return c
}

// restore continues from the status that an earlier run of the sandbox wrote: its processes
// have ended, as after a restart of the node.
func (c *container) restore(pod *v1.Pod) {
	for _, old := range append(append([]v1.ContainerStatus{}, pod.Status.InitContainerStatuses...), pod.Status.ContainerStatuses...) {
		if old.Name != c.name || old.ContainerID == "" {
			continue
		}
		c.restarts = old.RestartCount + 1
		c.last = v1.ContainerState{Terminated: &v1.ContainerStateTerminated{
			ExitCode: 255, Reason: "Unknown", ContainerID: old.ContainerID, FinishedAt: timestamp(time.Now()),
		}}
		if old.State.Running != nil {
			c.last.Terminated.StartedAt = old.State.Running.StartedAt
		}
		if old.State.Terminated != nil && (old.State.Terminated.ExitCode == 0 && c.policy != v1.RestartPolicyAlways || c.policy == v1.RestartPolicyNever) {
			c.restarts, c.last, c.state = old.RestartCount, old.LastTerminationState, old.State
		}
	}
}

func (c *container) waiting(reason, message string) {
	c.state = v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reason, Message: message}}
}

// done reports whether the containers after an init container may start.
func (c *container) done() bool {
	if c.sidecar {
		return c.process != nil && c.started
	}
	return c.state.Terminated != nil && c.state.Terminated.ExitCode == 0
}

// syncContainer starts a container that should run. It returns when to call it again; 0
// means that it has not to be called.
func (w *worker) syncContainer(pod *v1.Pod, c *container) time.Duration {
	if c.process != nil || c.state.Terminated != nil && !c.restartable() {
		return 0
	}
	if wait := time.Until(c.next); wait > 0 {
		c.waiting("CrashLoopBackOff", w.backingOff(pod, c))
		return wait
	}
	err := w.startContainer(pod, c)
	if err != nil {
		c.waiting("CreateContainerConfigError", err.Error())
		w.recordEvent(pod, v1.EventTypeWarning, "Failed", "Error: "+err.Error())
		return resync
	}
	return 0
}

func (c *container) restartable() bool {
	ended := c.state.Terminated
	return c.policy == v1.RestartPolicyAlways || c.policy == v1.RestartPolicyOnFailure && ended.ExitCode != 0
}

func (w *worker) spec(pod *v1.Pod, c *container) *v1.Container {
	if c.init {
		return &pod.Spec.InitContainers[c.number]
	}
	return &pod.Spec.Containers[c.number-len(pod.Spec.InitContainers)]
}

func (w *worker) startContainer(pod *v1.Pod, c *container) error {
	spec := w.spec(pod, c)
	env, err := w.environment(pod, spec)
	if err != nil {
		return err
	}
	program, err := w.prepareRoot(c, spec)
	if err != nil {
		return err
	}
	args := arguments(spec, env, w.address)
	list := append([]string{network.AddressEnv + "=" + w.address}, w.r.memorySettings...)
	for key, value := range env {
		list = append(list, key+"="+value)
	}
	workingDir := spec.WorkingDir
	if workingDir == "" {
		workingDir = "/"
	}
	started, err := w.r.launch.start(w.root(c.number), program, workingDir, args, list, c.log)
	if err != nil {
		return fmt.Errorf("cannot start %s: %w", program, err)
	}
	klog.V(1).InfoS("started", "pod", klog.KObj(pod), "container", c.name, "pid", started.cmd.Process.Pid, "args", args)
	if c.ran {
		c.restarts++
	}
	c.process, c.ran, c.killing = started, true, false
	c.running()
	c.started, c.ready = spec.StartupProbe == nil, false
	w.probe(pod, c, spec)
	w.r.recorder.Event(pod, v1.EventTypeNormal, "Started", "Container started")
	go func() {
		<-started.done
		w.wake()
	}()
	return nil
}

// running sets the state of a container whose process has started.
func (c *container) running() {
	c.state = v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: timestamp(c.process.started)}}
}

// timestamp returns a time as the API server returns it, in seconds. Otherwise the status would
// differ from the one that was written before, and be written again with every look.
func timestamp(at time.Time) metav1.Time {
	return metav1.NewTime(at).Rfc3339Copy()
}

// reapExited updates the containers whose processes have exited.
func (w *worker) reapExited() {
	for _, c := range w.containers {
		if c.process != nil && !c.process.running() {
			w.ended(c)
		}
	}
}

func (w *worker) ended(c *container) {
	pod, _ := w.latest()
	c.stopProbes()
	end := c.process
	state := &v1.ContainerStateTerminated{
		ExitCode: end.code, StartedAt: timestamp(end.started), FinishedAt: timestamp(end.ended), ContainerID: c.id(w), Reason: "Completed",
	}
	if end.code != 0 {
		state.Reason = "Error"
		if w.spec(pod, c).TerminationMessagePolicy == v1.TerminationMessageFallbackToLogsOnError {
			state.Message = tail(c.log, end.offset, 80)
		}
	}
	c.before = [2]int64{end.offset, size(c.log)}
	c.process, c.ready, c.started = nil, false, false
	c.state = v1.ContainerState{Terminated: state}
	c.last = c.state
	if !c.restartable() {
		return
	}
	// kubelet restarts it without a back-off the first time.
	if end.ended.Sub(end.started) > backOffReset {
		c.backOff = 0
	}
	c.delay = c.backOff
	c.next = end.ended.Add(c.delay)
	c.backOff = min(max(2*c.backOff, firstBackOff), lastBackOff)
}

// backingOff returns kubelet's message, with the last lines of the log.
func (w *worker) backingOff(pod *v1.Pod, c *container) string {
	message := fmt.Sprintf("back-off %s restarting failed container=%s pod=%s_%s(%s)", c.delay, c.name, pod.Name, pod.Namespace, pod.UID)
	if output := tail(c.log, c.before[0], 3); output != "" {
		message += ": " + output
	}
	w.recordEvent(pod, v1.EventTypeWarning, "BackOff", message)
	return message
}

// kill sends SIGTERM, and SIGKILL after the grace period. Another call can only shorten the
// grace period.
func (c *container) kill(grace time.Duration, why string) {
	if c.process == nil || c.killing && grace >= c.grace {
		return
	}
	process := c.process
	if !c.killing {
		process.signal(syscall.SIGTERM)
	}
	c.killing, c.grace = true, grace
	time.AfterFunc(grace, func() { process.signal(syscall.SIGKILL) })
	if why != "" {
		klog.V(1).InfoS("killing", "container", c.name, "why", why)
	}
}

func (c *container) stopProbes() {
	if c.stop != nil {
		c.stop()
		c.stop = nil
	}
}

func (c *container) id(w *worker) string {
	return fmt.Sprintf("sandbox://%s/%s/%d", w.uid, c.name, c.restarts)
}

func size(file string) int64 {
	info, err := os.Stat(file)
	if err != nil {
		return 0
	}
	return info.Size()
}

// tail returns the last lines of a log after an offset, at most as much as a status may hold.
func tail(file string, offset int64, lines int) string {
	const maxBytes = 2048
	in, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer in.Close()
	end := size(file)
	text := make([]byte, end-max(offset, end-maxBytes))
	if _, err := in.ReadAt(text, max(offset, end-maxBytes)); err != nil && !errors.Is(err, os.ErrClosed) {
		return ""
	}
	all := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return strings.ToValidUTF8(strings.Join(all[max(0, len(all)-lines):], "\n"), "")
}
