package kubelet

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

// fresh is how long the Services and EndpointSlices are cached.
const fresh = 2 * time.Second

// services are the shoot's Services and EndpointSlices, as kube-proxy on the node sees them.
type services struct {
	lock   sync.Mutex
	seen   time.Time
	list   []v1.Service
	slices []discovery.EndpointSlice
	// The kube-proxy pod whose credentials are used, and its client.
	proxy  types.UID
	client kubernetes.Interface
}

// route returns the local address for an address of the shoot, following Services as a packet
// from the node would.
func (p *podManager) route(ctx context.Context, address string) (string, error) {
	shoot, network := p.node.rest.Host, p.node.machine.Network
	if local, ok := network.Find(shoot, address); ok {
		return local, nil
	}
	ends, err := p.endpoints(ctx, address)
	if err != nil {
		return "", err
	}
	for _, end := range ends {
		if local, ok := network.Find(shoot, end); ok {
			return local, nil
		}
	}
	return "", errors.New("connection refused")
}

// endpoints returns the addresses behind the address of a Service.
func (p *podManager) endpoints(ctx context.Context, address string) ([]string, error) {
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
	if err := p.services.refresh(ctx, p); err != nil {
		return nil, err
	}
	var ends []string
	for _, service := range p.services.list {
		if !slices.Contains(service.Spec.ClusterIPs, host) {
			continue
		}
		for _, one := range service.Spec.Ports {
			if int(one.Port) == port {
				ends = append(ends, p.services.endpointsOf(&service, one.Name)...)
			}
		}
	}
	return ends, nil
}

// refresh lists Services and EndpointSlices with the credentials of kube-proxy.
func (s *services) refresh(ctx context.Context, p *podManager) error {
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
		client, err := p.node.clientFor(proxy)
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

func (s *services) endpointsOf(service *v1.Service, port string) []string {
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

// proxy returns the pod that implements Services on the node.
func (p *podManager) proxy() *v1.Pod {
	for _, object := range p.store.List() {
		pod := object.(*v1.Pod)
		if pod.Status.Phase == v1.PodRunning && (containerOf(pod, "kube-proxy") != nil || containerOf(pod, "cilium-agent") != nil) {
			return pod
		}
	}
	return nil
}

// clientFor returns a client with the identity of a pod's ServiceAccount.
func (n *Node) clientFor(pod *v1.Pod) (kubernetes.Interface, error) {
	config := rest.CopyConfig(n.known().server)
	if err := secureTransport(n.machine, config, nil); err != nil {
		return nil, err
	}
	config.Wrap(n.serviceAccount(pod).wrap)
	return kubernetes.NewForConfig(config)
}

// serviceAccount adds a pod's token to requests.
type serviceAccount struct {
	node *Node
	pod  *v1.Pod
	next http.RoundTripper

	lock  sync.Mutex
	token string
	due   time.Time
}

func (n *Node) serviceAccount(pod *v1.Pod) *serviceAccount { return &serviceAccount{node: n, pod: pod} }

func (a *serviceAccount) wrap(next http.RoundTripper) http.RoundTripper {
	a.next = next
	return a
}

func (a *serviceAccount) current(ctx context.Context) (string, error) {
	a.lock.Lock()
	defer a.lock.Unlock()
	if time.Now().Before(a.due) {
		return a.token, nil
	}
	var err error
	a.token, a.due, err = a.node.token(ctx, a.pod, "", ptr.To(int64(3607)))
	return a.token, err
}

func (a *serviceAccount) RoundTrip(request *http.Request) (*http.Response, error) {
	token, err := a.current(request.Context())
	if err != nil {
		return nil, err
	}
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+token)
	return a.next.RoundTrip(request)
}
