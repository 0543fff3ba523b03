// Package network gives pods and Services addresses on loopback, and forwards the Services'
// ports to the pods behind them, as kube-proxy and a load balancer do.
package network

import (
	"context"
	"fmt"
	"net/netip"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Blocks of 127.0.0.0/8, by the second byte of their first /16. Each sandbox has one /16 of
// each block, at the offset of its row. Block 64 holds the cluster IPs, which the API server
// allocates.
const (
	balancerBlock = 96
	podBlock      = 128
)

// PodAddress returns the n-th loopback address for processes of pods.
func PodAddress(row, n int) string { return loopback(podBlock, row, n) }

func loopback(block, row, n int) string {
	return fmt.Sprintf("127.%d.%d.%d", block+row, n>>8&255, n&255)
}

// PodIPs allocates the addresses that pods and machines report in their status. They are not
// reachable: EndpointSlices refuse the loopback addresses that the processes listen on.
type PodIPs struct{ last atomic.Uint32 }

// Resume continues after the addresses that existing pods have.
func (p *PodIPs) Resume(ctx context.Context, client kubernetes.Interface) error {
	pods, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return err
	}
	for _, pod := range pods.Items {
		address, err := netip.ParseAddr(pod.Status.PodIP)
		if err != nil || !address.Is4() {
			continue
		}
		b := address.As4()
		if n := uint32(b[1]-64)<<16 | uint32(b[2])<<8 | uint32(b[3]); b[0] == 10 && b[1] >= 64 && n > p.last.Load() {
			p.last.Store(n)
		}
	}
	return nil
}

// Next returns an address that no pod has.
func (p *PodIPs) Next() string {
	n := p.last.Add(1)
	return fmt.Sprintf("10.%d.%d.%d", 64+n>>16&63, n>>8&255, n&255)
}
