package network

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"kvshoot.io/sandbox/kubernetes/faults"
)

// LoadBalancer gives Services of type LoadBalancer an address of the sandbox.
type LoadBalancer struct {
	client   kubernetes.Interface
	services cache.Store
	row      int
	// The Services that addresses were given to.
	given map[string]types.UID
}

// NewLoadBalancer returns a load balancer for the sandbox of a row.
func NewLoadBalancer(client kubernetes.Interface, services cache.Store, row int) *LoadBalancer {
	return &LoadBalancer{client: client, services: services, row: row, given: map[string]types.UID{}}
}

// Reconcile gives a Service an address if it needs one. Only one worker may call it, or an
// address could be given out twice.
func (b *LoadBalancer) Reconcile(ctx context.Context, service *v1.Service) (time.Duration, error) {
	if service.Spec.Type != v1.ServiceTypeLoadBalancer || len(service.Status.LoadBalancer.Ingress) > 0 || service.DeletionTimestamp != nil {
		return 0, nil
	}
	if outcome, _ := faults.FromAnnotations(service.Annotations); outcome != "" {
		return 0, nil
	}
	address, ok := b.freeAddress()
	if !ok {
		return 10 * time.Second, nil
	}
	changed := service.DeepCopy()
	changed.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: address}}
	_, err := b.client.CoreV1().Services(service.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	if err == nil {
		b.given[address] = service.UID
	}
	return 0, err
}

func (b *LoadBalancer) freeAddress() (string, bool) {
	used := map[string]bool{}
	existing := map[types.UID]bool{}
	for _, object := range b.services.List() {
		service := object.(*v1.Service)
		existing[service.UID] = true
		for _, ingress := range service.Status.LoadBalancer.Ingress {
			used[ingress.IP] = true
		}
	}
	// The informer may lag behind the last write.
	for address, owner := range b.given {
		if existing[owner] {
			used[address] = true
		}
	}
	for n := 1; n < 1<<16; n++ {
		if address := loopback(balancerBlock, b.row, n); !used[address] {
			return address, true
		}
	}
	return "", false
}
