package kubelet

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	v1 "k8s.io/api/core/v1"

	"kvshoot.io/sandbox/kubernetes/guest/metricsserver"
)

// workload is what runs for a pod's containers.
type workload struct {
	// ready answers the readiness probe; nil means always ready.
	ready func() bool
	end   func()
	// The status of the pod says that its containers started on this boot of the machine.
	reported bool
}

// start starts the programs of a pod that the cluster depends on: the konnectivity agent,
// metrics-server and CSI drivers. It does nothing for other pods.
func (p *podManager) start(ctx context.Context, pod *v1.Pod, ip string) (*workload, error) {
	p.lock.Lock()
	known := p.workloads[pod.UID]
	p.lock.Unlock()
	if known != nil {
		return known, nil
	}
	started := &workload{end: func() {}}
	var err error
	if container := containerOf(pod, "proxy-agent"); container != nil {
		started, err = p.konnectivityAgent(ctx, pod, container, ip)
	} else if container := containerOf(pod, "metrics-server"); container != nil {
		started, err = p.metricsServer(ctx, pod, container, ip)
	} else if container := containerOf(pod, "csi-node-driver-registrar"); container != nil {
		err = p.node.registerDriver(ctx, container)
	}
	if err != nil {
		return nil, err
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	// A pod is only ever processed by one of the workers.
	if p.node.machine.Context.Err() != nil {
		started.end()
		return nil, errors.New("the machine is shutting down")
	}
	p.workloads[pod.UID] = started
	return started, nil
}

// plugin reports whether a pod runs that installs a network configuration.
func (p *podManager) plugin(node *v1.Node) bool {
	for _, object := range p.store.List() {
		pod := object.(*v1.Pod)
		if pod.Status.Phase != v1.PodRunning || pod.DeletionTimestamp != nil {
			continue
		}
		for _, container := range pod.Spec.Containers {
			switch container.Name {
			case "calico-node", "cilium-agent":
				return true
			case "kube-flannel":
				// Flannel uses the node's range.
				if node.Spec.PodCIDR != "" {
					return true
				}
			}
		}
	}
	return false
}

// containerOf returns the container that runs a program, by its command or else its image.
func containerOf(pod *v1.Pod, program string) *v1.Container {
	for i, container := range pod.Spec.Containers {
		image, _, _ := strings.Cut(filepath.Base(container.Image), "@")
		image, _, _ = strings.Cut(image, ":")
		name := image
		if len(container.Command) > 0 {
			name = filepath.Base(container.Command[0])
		}
		if name == program {
			return &pod.Spec.Containers[i]
		}
	}
	return nil
}

// metricsServer starts the stand-in for metrics-server.
func (p *podManager) metricsServer(ctx context.Context, pod *v1.Pod, container *v1.Container, ip string) (*workload, error) {
	client, err := p.node.clientFor(pod)
	if err != nil {
		return nil, err
	}
	folder, again, err := p.writeMounts(ctx, pod, container)
	if err != nil {
		return nil, err
	}
	server, err := metricsserver.Start(ctx, metricsserver.Config{
		Machine: p.node.machine, Shoot: p.node.rest.Host, Name: pod.Name, Address: ip, Client: client,
		Arguments: arguments(pod, container, folder, p.node.hostIP(), ip), Token: p.node.serviceAccount(pod).current,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", container.Name, err)
	}
	live, end := context.WithCancel(p.node.machine.Context)
	go p.refresh(live, pod, container, again)
	return &workload{ready: server.Ready, end: func() { end(); server.Stop() }}, nil
}
