package network

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
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Backend is a pod behind a Service, and the address that its processes listen on.
type Backend struct {
	Pod     *v1.Pod
	Address string
}

// Backends finds the running pods that a Service selects: only ready ones, unless all are
// wanted or the Service publishes unready addresses.
type Backends interface {
	Backends(service *v1.Service, all bool) []Backend
}

// Forwarder does the work of kube-proxy: it listens on the Services' addresses and forwards
// connections to their pods. The open listeners belong to the goroutine of Run.
type Forwarder struct {
	services cache.Store
	backends Backends
	apiPort  string
	// dial opens connections to backends.
	dial  Dial
	dirty chan struct{}
	open  map[string]*listener
	// Addresses that could not be opened, so that each is logged once.
	failed map[string]bool
}

// Dial opens a connection to an address and port of a backend.
type Dial func(address string) (Connection, error)

// Connection can say that nothing more will be sent.
type Connection interface {
	net.Conn
	CloseWrite() error
}

// DialTCP opens a connection to an address of this computer.
func DialTCP(address string) (Connection, error) {
	opened, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		return nil, err
	}
	return opened.(*net.TCPConn), nil
}

// listener forwards one address and port.
type listener struct {
	net.Listener
	dial    Dial
	lock    sync.RWMutex
	targets []string
}

// NewForwarder returns a forwarder for Services; the API server listens on apiPort of 127.0.0.1.
func NewForwarder(services cache.Store, backends Backends, apiPort string, dial Dial) *Forwarder {
	return &Forwarder{
		services: services, backends: backends, apiPort: apiPort, dial: dial,
		dirty: make(chan struct{}, 1), open: map[string]*listener{}, failed: map[string]bool{},
	}
}

// Notify makes Run look at the Services and pods again.
func (f *Forwarder) Notify() {
	select {
	case f.dirty <- struct{}{}:
	default:
	}
}

// Run follows Services and pods until the context ends.
func (f *Forwarder) Run(ctx context.Context) {
	// An address that another program uses may become free.
	retry := time.NewTicker(5 * time.Second)
	defer retry.Stop()
	for ctx.Err() == nil {
		select {
		case <-f.dirty:
		case <-retry.C:
		case <-ctx.Done():
			return
		}
		f.reconcile()
	}
}

func (f *Forwarder) reconcile() {
	wanted := map[string][]string{}
	for _, object := range f.services.List() {
		f.addTargets(wanted, object.(*v1.Service))
	}
	for address, one := range f.open {
		if len(wanted[address]) == 0 {
			_ = one.Close()
			delete(f.open, address)
		}
	}
	for address, targets := range wanted {
		if one := f.open[address]; one != nil {
			one.lock.Lock()
			one.targets = targets
			one.lock.Unlock()
			continue
		}
		opened, err := net.Listen("tcp", address)
		if err != nil {
			if !f.failed[address] {
				f.failed[address] = true
				klog.ErrorS(err, "cannot listen for a Service", "address", address)
			}
			continue
		}
		delete(f.failed, address)
		one := &listener{Listener: opened, dial: f.dial, targets: targets}
		f.open[address] = one
		go one.serve()
	}
}

// addTargets adds the addresses that a Service listens on, each with its targets.
func (f *Forwarder) addTargets(wanted map[string][]string, service *v1.Service) {
	if service.Namespace == "default" && service.Name == "kubernetes" {
		wanted[net.JoinHostPort(service.Spec.ClusterIP, "443")] = []string{net.JoinHostPort("127.0.0.1", f.apiPort)}
		return
	}
	backends := f.backends.Backends(service, false)
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
		for _, backend := range backends {
			if target, ok := targetPort(backend.Pod, port); ok {
				targets = append(targets, net.JoinHostPort(backend.Address, target))
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
			for _, declared := range container.Ports {
				if declared.Name == name {
					return fmt.Sprint(declared.ContainerPort), true
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

func (l *listener) serve() {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		go l.forward(client)
	}
}

// forward connects a client to a random target, and to the next one if that does not answer.
func (l *listener) forward(client net.Conn) {
	defer client.Close()
	l.lock.RLock()
	targets := append([]string{}, l.targets...)
	l.lock.RUnlock()
	rand.Shuffle(len(targets), func(i, j int) { targets[i], targets[j] = targets[j], targets[i] })
	for _, target := range targets {
		server, err := l.dial(target)
		if err == nil {
			pipe(client.(*net.TCPConn), server)
			return
		}
	}
	// Without a forwarder in between it would be refused.
	reset(client)
}

// reset makes a TCP connection end with a reset when it is closed.
func reset(connection net.Conn) {
	if tcp, ok := connection.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
}

// pipe copies bytes both ways until both sides have closed.
func pipe(a, b Connection) {
	defer b.Close()
	done := make(chan struct{})
	pass := func(to, from Connection) {
		_, err := io.Copy(to, from)
		if err != nil {
			// A connection that broke on one side is broken on the other.
			reset(to)
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
