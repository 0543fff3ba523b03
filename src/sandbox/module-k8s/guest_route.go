package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
)

// How long the Services of a node are taken for known.
const fresh = 2 * time.Second

// services are those of the shoot, as the node's kube-proxy sees them.
type services struct {
	lock   sync.Mutex
	seen   time.Time
	list   []v1.Service
	slices []discovery.EndpointSlice
	// By whom they were seen.
	proxy  types.UID
	client kubernetes.Interface
}

// route finds what stands for an address of the shoot, as a packet from the
// node would go.
func (p *nodePods) route(ctx context.Context, address string) (string, error) {
	shoot, wire := p.node.rest.Host, &p.node.guest.all.wire
	if local, ok := wire.find(shoot, address); ok {
		return local, nil
	}
	ends, err := p.endpoints(ctx, address)
	if err != nil {
		return "", err
	}
	for _, end := range ends {
		if local, ok := wire.find(shoot, end); ok {
			return local, nil
		}
	}
	return "", errors.New("connection refused")
}

// endpoints are those behind the address of a Service.
func (p *nodePods) endpoints(ctx context.Context, address string) ([]string, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return nil, err
	}
	p.services.lock.Lock()
	defer p.services.lock.Unlock()
	if err := p.services.look(ctx, p); err != nil {
		return nil, err
	}
	var ends []string
	for _, service := range p.services.list {
		if !slices.Contains(service.Spec.ClusterIPs, host) {
			continue
		}
		for _, one := range service.Spec.Ports {
			if int(one.Port) == port {
				ends = append(ends, p.services.behind(&service, one.Name)...)
			}
		}
	}
	return ends, nil
}

// look asks for all Services and EndpointSlices, as the pod that makes their
// addresses work.
func (s *services) look(ctx context.Context, p *nodePods) error {
	if time.Since(s.seen) < fresh {
		return nil
	}
	proxy := p.proxy()
	if proxy == nil {
		return errors.New("no route: no kube-proxy runs on the node")
	}
	ctx, done := context.WithTimeout(ctx, 10*time.Second)
	defer done()
	if s.proxy != proxy.UID {
		client, err := p.node.as(proxy)
		if err != nil {
			return err
		}
		s.proxy, s.client = proxy.UID, client
	}
	list, err := s.client.CoreV1().Services("").List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return fmt.Errorf("%s: %w", proxy.Name, err)
	}
	slices, err := s.client.DiscoveryV1().EndpointSlices("").List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return fmt.Errorf("%s: %w", proxy.Name, err)
	}
	s.list, s.slices, s.seen = list.Items, slices.Items, time.Now()
	return nil
}

func (s *services) behind(service *v1.Service, port string) []string {
	var ends []string
	for _, slice := range s.slices {
		if slice.Namespace != service.Namespace || slice.Labels[discovery.LabelServiceName] != service.Name {
			continue
		}
		for _, one := range slice.Ports {
			if ptr.Deref(one.Name, "") != port || one.Port == nil {
				continue
			}
			for _, end := range slice.Endpoints {
				if ptr.Deref(end.Conditions.Ready, true) && len(end.Addresses) > 0 {
					ends = append(ends, net.JoinHostPort(end.Addresses[0], strconv.Itoa(int(*one.Port))))
				}
			}
		}
	}
	return ends
}

// proxy is the pod by which Services work on the node.
func (p *nodePods) proxy() *v1.Pod {
	for _, object := range p.store.List() {
		pod := object.(*v1.Pod)
		if pod.Status.Phase == v1.PodRunning && (runs(pod, "kube-proxy") != nil || runs(pod, "cilium-agent") != nil) {
			return pod
		}
	}
	return nil
}

// as is a client with the identity of a pod's ServiceAccount.
func (n *node) as(pod *v1.Pod) (kubernetes.Interface, error) {
	config := rest.CopyConfig(n.server)
	if err := n.guest.secure(config, nil); err != nil {
		return nil, err
	}
	config.Wrap(n.account(pod).wrap)
	return kubernetes.NewForConfig(config)
}

// account gives requests a pod's token.
type account struct {
	node *node
	pod  *v1.Pod
	next http.RoundTripper

	lock  sync.Mutex
	token string
	due   time.Time
}

func (n *node) account(pod *v1.Pod) *account { return &account{node: n, pod: pod} }

func (a *account) wrap(next http.RoundTripper) http.RoundTripper {
	a.next = next
	return a
}

func (a *account) current(ctx context.Context) (string, error) {
	a.lock.Lock()
	defer a.lock.Unlock()
	if time.Now().Before(a.due) {
		return a.token, nil
	}
	var err error
	a.token, a.due, err = a.node.token(ctx, a.pod, "", ptr.To(int64(3607)))
	return a.token, err
}

func (a *account) RoundTrip(request *http.Request) (*http.Response, error) {
	token, err := a.current(request.Context())
	if err != nil {
		return nil, err
	}
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+token)
	return a.next.RoundTrip(request)
}
