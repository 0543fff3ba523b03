package pods

import (
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/probe"
	grpcprobe "k8s.io/kubernetes/pkg/probe/grpc"
	httpprobe "k8s.io/kubernetes/pkg/probe/http"
	tcpprobe "k8s.io/kubernetes/pkg/probe/tcp"
)

// fastInterval is the interval of probes that have not succeeded yet. kubelet waits for a
// period between them; here too, failures count once a period.
const fastInterval = 250 * time.Millisecond

var (
	httpProber = httpprobe.NewWithTLSConfig(&tls.Config{InsecureSkipVerify: true}, false) // as kubelet does
	tcpProber  = tcpprobe.New()
	grpcProber = grpcprobe.New()
)

// probe starts a container's probes. Liveness and readiness probes wait for the startup probe.
func (w *worker) probe(pod *v1.Pod, c *container, spec *v1.Container) {
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	process := c.process
	send := func(event func()) {
		select {
		case w.events <- func() {
			if c.process == process {
				event()
			}
		}:
		case <-ctx.Done():
		}
	}
	begun := make(chan struct{})
	if spec.StartupProbe != nil {
		go w.repeat(ctx, pod, spec, "Startup", spec.StartupProbe, func(good bool) bool {
			if !good {
				send(func() { w.failedProbe(pod, c, spec, spec.StartupProbe, "startup") })
				return false
			}
			send(func() { c.started = true })
			close(begun)
			return false
		})
	} else {
		close(begun)
	}
	after := func(one *v1.Probe, kind string, result func(bool) bool) {
		select {
		case <-begun:
			w.repeat(ctx, pod, spec, kind, one, result)
		case <-ctx.Done():
		}
	}
	if one := spec.LivenessProbe; one != nil {
		go after(one, "Liveness", func(good bool) bool {
			if !good {
				send(func() { w.failedProbe(pod, c, spec, one, "liveness") })
			}
			return good
		})
	}
	ready := func(good bool) bool {
		send(func() { c.ready = good })
		return true
	}
	if one := spec.ReadinessProbe; one != nil {
		go after(one, "Readiness", ready)
		return
	}
	go func() {
		select {
		case <-begun:
			ready(true)
		case <-ctx.Done():
		}
	}()
}

// repeat probes until result returns false. It calls result when the outcome crosses a
// threshold.
func (w *worker) repeat(ctx context.Context, pod *v1.Pod, spec *v1.Container, kind string, one *v1.Probe, result func(bool) bool) {
	period := time.Duration(max(one.PeriodSeconds, 1)) * time.Second
	if !sleep(ctx, time.Duration(one.InitialDelaySeconds)*time.Second) {
		return
	}
	successes, failures := int32(0), int32(0)
	counted, now, known := time.Time{}, false, false
	for {
		good, output := w.probeOnce(spec, one)
		wait := period
		switch {
		case good:
			successes, failures = successes+1, 0
		case time.Since(counted) >= period-fastInterval/2:
			successes, failures, counted = 0, failures+1, time.Now()
			if ctx.Err() == nil {
				w.r.recorder.Event(pod, v1.EventTypeWarning, "Unhealthy", fmt.Sprintf("%s probe failed: %s", kind, output))
			}
		}
		switch {
		case good && successes >= max(one.SuccessThreshold, 1) && (!known || !now),
			!good && failures >= max(one.FailureThreshold, 1) && (!known || now || kind != "Readiness"):
			known, now = true, good
			if !result(good) {
				return
			}
		}
		if !now {
			wait = min(wait, fastInterval+rand.N(fastInterval/5))
		}
		if !sleep(ctx, wait) {
			return
		}
	}
}

func (w *worker) failedProbe(pod *v1.Pod, c *container, spec *v1.Container, one *v1.Probe, kind string) {
	grace := int64(30)
	if pod.Spec.TerminationGracePeriodSeconds != nil {
		grace = *pod.Spec.TerminationGracePeriodSeconds
	}
	if one.TerminationGracePeriodSeconds != nil {
		grace = *one.TerminationGracePeriodSeconds
	}
	why := fmt.Sprintf("Container %s failed %s probe, will be restarted", spec.Name, kind)
	w.r.recorder.Event(pod, v1.EventTypeNormal, "Killing", why)
	c.kill(time.Duration(grace)*time.Second, why)
}

// probeOnce probes the address of the pod's processes, as kubelet does.
func (w *worker) probeOnce(spec *v1.Container, one *v1.Probe) (bool, string) {
	timeout := time.Duration(max(one.TimeoutSeconds, 1)) * time.Second
	var result probe.Result
	var output string
	var err error
	switch {
	case one.HTTPGet != nil:
		var request *http.Request
		request, err = httpprobe.NewRequestForHTTPGetAction(one.HTTPGet, spec, w.address, "probe")
		if err == nil {
			result, output, err = httpProber.Probe(request, timeout)
		}
	case one.TCPSocket != nil:
		host := one.TCPSocket.Host
		if host == "" {
			host = w.address
		}
		var port int
		port, err = portNumber(one.TCPSocket.Port, spec)
		if err == nil {
			result, output, err = tcpProber.Probe(host, port, timeout)
		}
	case one.GRPC != nil:
		service := ""
		if one.GRPC.Service != nil {
			service = *one.GRPC.Service
		}
		result, output, err = grpcProber.Probe(w.address, service, int(one.GRPC.Port), timeout)
	default:
		klog.V(1).InfoS("exec probes are not supported in the sandbox; treated as successful", "container", spec.Name)
		return true, ""
	}
	if err != nil {
		return false, err.Error()
	}
	return result == probe.Success || result == probe.Warning, output
}

func portNumber(port intstr.IntOrString, spec *v1.Container) (int, error) {
	if port.Type == intstr.Int {
		return port.IntValue(), nil
	}
	for _, one := range spec.Ports {
		if one.Name == port.StrVal {
			return int(one.ContainerPort), nil
		}
	}
	return 0, fmt.Errorf("container %s has no port %s", spec.Name, port.StrVal)
}

func sleep(ctx context.Context, duration time.Duration) bool {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
