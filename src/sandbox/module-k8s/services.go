package main

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// service plays a load balancer. One worker runs it, so no address is given
// out twice.
func (s *simulator) service(ctx context.Context, service *v1.Service) (time.Duration, error) {
	if service.Spec.Type != v1.ServiceTypeLoadBalancer || len(service.Status.LoadBalancer.Ingress) > 0 || service.DeletionTimestamp != nil {
		return 0, nil
	}
	if outcome, _ := fault(service.Annotations); outcome != "" {
		return 0, nil
	}
	address, ok := s.balancerAddress()
	if !ok {
		return 10 * time.Second, nil
	}
	copied := service.DeepCopy()
	copied.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: address}}
	_, err := s.kube.CoreV1().Services(service.Namespace).UpdateStatus(ctx, copied, metav1.UpdateOptions{})
	if err == nil {
		s.balancers[address] = service.UID
	}
	return 0, err
}

// balancerAddress finds one of the sandbox's addresses that no Service has.
func (s *simulator) balancerAddress() (string, bool) {
	used := map[string]bool{}
	alive := map[types.UID]bool{}
	for _, object := range s.services.List() {
		service := object.(*v1.Service)
		alive[service.UID] = true
		for _, ingress := range service.Status.LoadBalancer.Ingress {
			used[ingress.IP] = true
		}
	}
	// The informer may not have seen the last write yet.
	for address, owner := range s.balancers {
		if alive[owner] {
			used[address] = true
		}
	}
	for n := 1; n < 1<<16; n++ {
		if address := loopback(balancerBlock, s.row, n); !used[address] {
			return address, true
		}
	}
	return "", false
}
