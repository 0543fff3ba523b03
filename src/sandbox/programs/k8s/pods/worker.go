package pods

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

const (
	// Interval at which Secrets, host names and faults are checked again.
	resync = time.Second
	// Minimum interval between equal events.
	eventInterval = 15 * time.Second
)

// worker runs one pod as processes. All fields above the lock belong to the goroutine of run.
type worker struct {
	r               *Runner
	uid             types.UID
	namespace, name string
	address, dir    string
	containers      []*container
	tokens          map[string]token
	attached        map[string]string
	hostsText       string
	// Functions for the goroutine of run to call: results of probes, exits of processes.
	events    chan func()
	mounted   bool
	mountedAt time.Time
	// All init containers have completed, or started if they are sidecars.
	initialized bool
	// The message and the time of the last event.
	lastEvent   string
	lastEventAt time.Time

	lock sync.Mutex
	pod  *v1.Pod
	lost bool
}

func newWorker(r *Runner, pod *v1.Pod, address string) *worker {
	w := &worker{
		r: r, uid: pod.UID, namespace: pod.Namespace, name: pod.Name, address: address, pod: pod,
		dir:    filepath.Join(r.roots, pod.Namespace+"_"+pod.Name+"_"+string(pod.UID)),
		tokens: map[string]token{}, attached: map[string]string{}, events: make(chan func(), 64),
	}
	for i := range pod.Spec.InitContainers {
		w.containers = append(w.containers, w.container(pod, &pod.Spec.InitContainers[i], true))
	}
	for i := range pod.Spec.Containers {
		w.containers = append(w.containers, w.container(pod, &pod.Spec.Containers[i], false))
	}
	return w
}

func (w *worker) update(pod *v1.Pod) {
	w.lock.Lock()
	if newer(pod, w.pod) {
		w.pod = pod
	}
	w.lock.Unlock()
	w.wake()
}

func (w *worker) abandon() {
	w.lock.Lock()
	w.lost = true
	w.lock.Unlock()
	w.wake()
}

func (w *worker) latest() (*v1.Pod, bool) {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.pod, w.lost
}

// wake makes run look again. A full channel wakes it anyway.
func (w *worker) wake() {
	select {
	case w.events <- func() {}:
	default:
	}
}

// run leads the pod from its start to its end, as kubelet does.
func (w *worker) run(ctx context.Context) {
	defer w.clear()
	select {
	case <-w.r.synced:
	case <-ctx.Done():
	}
	for ctx.Err() == nil {
		pod, lost := w.latest()
		if lost {
			return
		}
		again := resync
		if pod.DeletionTimestamp != nil {
			if w.end(pod) {
				if err := w.r.deleteObject(ctx, pod); err != nil {
					klog.ErrorS(err, "cannot delete the pod", "pod", klog.KObj(pod))
				}
			}
		} else {
			again = w.sync(ctx, pod)
		}
		if err := w.report(ctx, pod); err != nil {
			klog.V(2).InfoS("cannot write the pod's status", "pod", klog.KObj(pod), "error", err)
			again = min(again, 200*time.Millisecond)
		}
		timer := time.NewTimer(again)
		select {
		case event := <-w.events:
			event()
			w.drain()
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

func (w *worker) drain() {
	for {
		select {
		case event := <-w.events:
			event()
		default:
			return
		}
	}
}

// clear removes everything of the pod but its logs and persistent volumes.
func (w *worker) clear() {
	for _, c := range w.containers {
		if c.process != nil {
			c.process.signal(syscall.SIGKILL)
			<-c.process.done
		}
		c.stopProbes()
	}
	w.detach()
	if err := os.RemoveAll(w.dir); err != nil {
		klog.ErrorS(err, "cannot remove the pod's folder", "pod", w.name)
	}
	w.r.forget(w)
}

// sync starts the containers that should run. It returns when to call it again.
func (w *worker) sync(ctx context.Context, pod *v1.Pod) time.Duration {
	w.reapExited()
	if pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed {
		return resync
	}
	if !w.mounted || time.Since(w.mountedAt) >= resync {
		err := errors.Join(w.setUp(ctx, pod), w.writeHosts(pod))
		w.mountedAt = time.Now()
		if err != nil {
			w.recordEvent(pod, v1.EventTypeWarning, "FailedMount", err.Error())
			if !w.mounted {
				return resync / 2
			}
		} else {
			w.mounted = true
		}
	}
	crash := w.r.Faults.Matches("pod-crash", pod.Name)
	again := resync
	for _, c := range w.containers {
		if crash && c.process != nil {
			c.process.signal(syscall.SIGKILL)
		}
		if wait := w.syncContainer(pod, c); wait > 0 {
			again = min(again, wait)
		}
		if c.init && !c.done() && !w.initialized {
			return again
		}
	}
	w.initialized = true
	return again
}

// recordEvent records an event on the pod, unless the last one was equal and recent.
func (w *worker) recordEvent(pod *v1.Pod, kind, reason, message string) {
	if message == w.lastEvent && time.Since(w.lastEventAt) < eventInterval {
		return
	}
	w.lastEvent, w.lastEventAt = message, time.Now()
	w.r.recorder.Event(pod, kind, reason, message)
}

// end stops the containers, sidecars last. It returns true when all have exited.
func (w *worker) end(pod *v1.Pod) bool {
	grace := 30 * time.Second
	if seconds := pod.DeletionGracePeriodSeconds; seconds != nil {
		grace = time.Duration(*seconds) * time.Second
	}
	expired := time.Now().After(pod.DeletionTimestamp.Time)
	w.reapExited()
	for _, sidecars := range []bool{false, true} {
		ended := true
		for _, c := range w.containers {
			if c.sidecar != sidecars || c.process == nil {
				continue
			}
			ended = false
			c.kill(grace, "")
			if expired || grace == 0 {
				c.process.signal(syscall.SIGKILL)
			}
		}
		if !ended {
			return false
		}
	}
	return true
}
