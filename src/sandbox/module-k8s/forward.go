package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

// forwarder plays kube-proxy: it listens where Services say, and leads to the
// pods behind them. Only the goroutine of keep touches what is open.
type forwarder struct {
	r     *runner
	dirty chan struct{}
	open  map[string]*door
	// What could not be opened, so that it is said once.
	shut map[string]bool
}

// door is one address and port that leads somewhere.
type door struct {
	listener net.Listener
	lock     sync.RWMutex
	backends []string
}

func newForwarder(r *runner) *forwarder {
	return &forwarder{r: r, dirty: make(chan struct{}, 1), open: map[string]*door{}, shut: map[string]bool{}}
}

func (f *forwarder) mark() {
	select {
	case f.dirty <- struct{}{}:
	default:
	}
}

// keep follows Services and pods until the end.
func (f *forwarder) keep(ctx context.Context) {
	// An address that another program has may become free.
	again := time.NewTicker(5 * time.Second)
	defer again.Stop()
	for ctx.Err() == nil {
		select {
		case <-f.dirty:
		case <-again.C:
		case <-ctx.Done():
			return
		}
		f.arrange()
	}
}

func (f *forwarder) arrange() {
	wanted := map[string][]string{}
	for _, object := range f.r.s.services.List() {
		f.want(wanted, object.(*v1.Service))
	}
	for address, one := range f.open {
		if len(wanted[address]) == 0 {
			_ = one.listener.Close()
			delete(f.open, address)
		}
	}
	for address, backends := range wanted {
		if one := f.open[address]; one != nil {
			one.lock.Lock()
			one.backends = backends
			one.lock.Unlock()
			continue
		}
		listener, err := net.Listen("tcp", address)
		if err != nil {
			if !f.shut[address] {
				f.shut[address] = true
				klog.ErrorS(err, "cannot listen for a Service", "address", address)
			}
			continue
		}
		delete(f.shut, address)
		one := &door{listener: listener, backends: backends}
		f.open[address] = one
		go one.serve()
	}
}

// want adds where a Service's ports are to be, and where they lead.
func (f *forwarder) want(wanted map[string][]string, service *v1.Service) {
	if service.Namespace == "default" && service.Name == "kubernetes" {
		wanted[net.JoinHostPort(service.Spec.ClusterIP, "443")] = []string{net.JoinHostPort("127.0.0.1", f.r.apiPort)}
		return
	}
	backends := f.r.behind(service, false)
	if len(backends) == 0 {
		return
	}
	hosts := append([]string{}, service.Spec.ClusterIPs...)
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		hosts = append(hosts, ingress.IP)
	}
	for _, port := range service.Spec.Ports {
		if port.Protocol != v1.ProtocolTCP {
			continue
		}
		targets := []string{}
		for _, one := range backends {
			if target, ok := targetPort(one.pod, port); ok {
				targets = append(targets, net.JoinHostPort(one.address, target))
			}
		}
		for _, host := range hosts {
			if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
				wanted[net.JoinHostPort(host, strconv.Itoa(int(port.Port)))] = targets
			}
		}
		if port.NodePort != 0 {
			wanted[net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port.NodePort)))] = targets
		}
	}
}

func targetPort(pod *v1.Pod, port v1.ServicePort) (string, bool) {
	if name := port.TargetPort.StrVal; name != "" {
		for _, container := range append(append([]v1.Container{}, pod.Spec.InitContainers...), pod.Spec.Containers...) {
			for _, one := range container.Ports {
				if one.Name == name {
					return fmt.Sprint(one.ContainerPort), true
				}
			}
		}
		return "", false
	}
	if number := port.TargetPort.IntVal; number != 0 {
		return fmt.Sprint(number), true
	}
	return fmt.Sprint(port.Port), true
}

func (d *door) serve() {
	for {
		client, err := d.listener.Accept()
		if err != nil {
			return
		}
		go d.lead(client)
	}
}

// lead connects a client to one of the pods, to another if the first is not there.
func (d *door) lead(client net.Conn) {
	defer client.Close()
	d.lock.RLock()
	backends := append([]string{}, d.backends...)
	d.lock.RUnlock()
	rand.Shuffle(len(backends), func(i, j int) { backends[i], backends[j] = backends[j], backends[i] })
	for _, backend := range backends {
		server, err := net.DialTimeout("tcp", backend, 5*time.Second)
		if err == nil {
			join(client.(*net.TCPConn), server.(*net.TCPConn))
			return
		}
	}
	// Refused, as it would be without a forwarder in between.
	_ = client.(*net.TCPConn).SetLinger(0)
}

// join passes bytes both ways until both sides have said all.
func join(a, b *net.TCPConn) {
	defer b.Close()
	done := make(chan struct{})
	pass := func(to, from *net.TCPConn) {
		_, err := io.Copy(to, from)
		if err != nil {
			// A connection that broke on one side is broken on the other.
			_ = to.SetLinger(0)
			_ = to.Close()
			_ = from.Close()
		} else {
			_ = to.CloseWrite()
		}
		done <- struct{}{}
	}
	go pass(a, b)
	go pass(b, a)
	<-done
	<-done
}
