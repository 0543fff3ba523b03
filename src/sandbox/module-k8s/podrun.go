package main

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
	// How often Secrets, names and faults are looked at again.
	resync = time.Second
	// How long a message is not said again.
	silence = 15 * time.Second
)

// podRun is one pod that runs as processes. All but what stands under the lock
// belongs to the goroutine that live is.
type podRun struct {
	r               *runner
	uid             types.UID
	namespace, name string
	address, dir    string
	containers      []*container
	tokens          map[string]token
	attached        map[string]string
	hostsText       string
	// What to do in live's own goroutine: results of probes, ends of processes.
	events    chan func()
	mounted   bool
	mountedAt time.Time
	// All init containers have done their part.
	initialized bool
	// The last message, and when it was said.
	told   string
	toldAt time.Time

	lock sync.Mutex
	pod  *v1.Pod
	lost bool
}

func newPodRun(r *runner, pod *v1.Pod, address string) *podRun {
	p := &podRun{
		r: r, uid: pod.UID, namespace: pod.Namespace, name: pod.Name, address: address, pod: pod,
		dir:    filepath.Join(r.dir, pod.Namespace+"_"+pod.Name+"_"+string(pod.UID)),
		tokens: map[string]token{}, attached: map[string]string{}, events: make(chan func(), 64),
	}
	for i := range pod.Spec.InitContainers {
		p.containers = append(p.containers, p.container(pod, &pod.Spec.InitContainers[i], true))
	}
	for i := range pod.Spec.Containers {
		p.containers = append(p.containers, p.container(pod, &pod.Spec.Containers[i], false))
	}
	return p
}

func (p *podRun) see(pod *v1.Pod) {
	p.lock.Lock()
	if newer(pod, p.pod) {
		p.pod = pod
	}
	p.lock.Unlock()
	p.wake()
}

func (p *podRun) lose() {
	p.lock.Lock()
	p.lost = true
	p.lock.Unlock()
	p.wake()
}

func (p *podRun) latest() (*v1.Pod, bool) {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.pod, p.lost
}

// wake has live look again; when it has much to look at already, that will do.
func (p *podRun) wake() {
	select {
	case p.events <- func() {}:
	default:
	}
}

// live is the pod's whole life, as kubelet leads it.
func (p *podRun) live(ctx context.Context) {
	defer p.clear()
	select {
	case <-p.r.synced:
	case <-ctx.Done():
	}
	for ctx.Err() == nil {
		pod, lost := p.latest()
		if lost {
			return
		}
		again := resync
		if pod.DeletionTimestamp != nil {
			if p.end(pod) {
				if err := p.r.deleteNow(ctx, pod); err != nil {
					klog.ErrorS(err, "cannot delete the pod", "pod", klog.KObj(pod))
				}
			}
		} else {
			again = p.sync(ctx, pod)
		}
		if err := p.report(ctx, pod); err != nil {
			klog.V(2).InfoS("cannot write the pod's status", "pod", klog.KObj(pod), "error", err)
			again = min(again, 200*time.Millisecond)
		}
		timer := time.NewTimer(again)
		select {
		case event := <-p.events:
			event()
			p.drain()
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

func (p *podRun) drain() {
	for {
		select {
		case event := <-p.events:
			event()
		default:
			return
		}
	}
}

// clear leaves nothing of the pod but its logs and its persistent volumes.
func (p *podRun) clear() {
	for _, c := range p.containers {
		if c.process != nil {
			c.process.signal(syscall.SIGKILL)
			<-c.process.done
		}
		c.stopProbes()
	}
	p.detach()
	if err := os.RemoveAll(p.dir); err != nil {
		klog.ErrorS(err, "cannot remove the pod's folder", "pod", p.name)
	}
	p.r.forget(p)
}

// sync starts what should run, and says when to look again.
func (p *podRun) sync(ctx context.Context, pod *v1.Pod) time.Duration {
	p.forgetEnded()
	if pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed {
		return resync
	}
	if !p.mounted || time.Since(p.mountedAt) >= resync {
		err := errors.Join(p.setUp(ctx, pod), p.names(pod))
		p.mountedAt = time.Now()
		if err != nil {
			p.tell(pod, v1.EventTypeWarning, "FailedMount", err.Error())
			if !p.mounted {
				return resync / 2
			}
		} else {
			p.mounted = true
		}
	}
	crash := p.r.s.faults.matches("pod-crash", pod.Name)
	again := resync
	for _, c := range p.containers {
		if crash && c.process != nil {
			c.process.signal(syscall.SIGKILL)
		}
		if wait := p.syncContainer(pod, c); wait > 0 {
			again = min(again, wait)
		}
		if c.init && !c.done() && !p.initialized {
			return again
		}
	}
	p.initialized = true
	return again
}

// tell records an event on the pod, but not the same one over and over.
func (p *podRun) tell(pod *v1.Pod, kind, reason, message string) {
	if message == p.told && time.Since(p.toldAt) < silence {
		return
	}
	p.told, p.toldAt = message, time.Now()
	p.r.recorder.Event(pod, kind, reason, message)
}

// end stops the containers, sidecars last, and tells whether all have ended.
func (p *podRun) end(pod *v1.Pod) bool {
	grace := 30 * time.Second
	if seconds := pod.DeletionGracePeriodSeconds; seconds != nil {
		grace = time.Duration(*seconds) * time.Second
	}
	over := time.Now().After(pod.DeletionTimestamp.Time)
	p.forgetEnded()
	for _, sidecars := range []bool{false, true} {
		ended := true
		for _, c := range p.containers {
			if c.sidecar != sidecars || c.process == nil {
				continue
			}
			ended = false
			c.kill(grace, "")
			if over || grace == 0 {
				c.process.signal(syscall.SIGKILL)
			}
		}
		if !ended {
			return false
		}
	}
	return true
}
