package main

import (
	"context"
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"
)

const (
	clusterLabel   = "cluster.x-k8s.io/cluster-name"
	roleLabel      = "cluster.x-k8s.io/role"
	nameLabel      = "cluster.x-k8s.io/tenant-service-name"
	namespaceLabel = "cluster.x-k8s.io/tenant-service-namespace"
)

// balancer mirrors each Service of type LoadBalancer into the namespace, where the infrastructure's
// load balancer gives it an address.
type balancer struct{ *cloud }

func (b balancer) mirrors() corev1.ServiceInterface { return b.kube.CoreV1().Services(b.namespace) }

func (b balancer) GetLoadBalancerName(_ context.Context, _ string, service *v1.Service) string {
	return cloudprovider.DefaultLoadBalancerName(service)
}

func (b balancer) GetLoadBalancer(ctx context.Context, _ string, service *v1.Service) (*v1.LoadBalancerStatus, bool, error) {
	mirror, err := b.mirror(ctx, service)
	if err != nil || mirror == nil {
		return nil, false, err
	}
	return &mirror.Status.LoadBalancer, true, nil
}

// EnsureLoadBalancer creates the mirror and waits for its address. Of an existing mirror only the
// ports are updated, and its status is returned as it is: after a timeout the Service gets its
// address only when something else changes it.
func (b balancer) EnsureLoadBalancer(ctx context.Context, cluster string, service *v1.Service, _ []*v1.Node) (*v1.LoadBalancerStatus, error) {
	mirror, err := b.mirror(ctx, service)
	if err != nil {
		return nil, err
	}
	if mirror != nil {
		return &mirror.Status.LoadBalancer, b.follow(ctx, mirror, service)
	}
	mirror, err = b.mirrors().Create(ctx, b.build(cluster, service), metav1.CreateOptions{})
	if err != nil {
		klog.ErrorS(err, "cannot create the mirror", "service", klog.KObj(service))
		return nil, err
	}
	interval := seconds(b.config.LoadBalancer.PollInterval, pollInterval)
	timeout := seconds(b.config.LoadBalancer.PollTimeout, pollTimeout)
	err = wait.PollUntilContextTimeout(ctx, interval, timeout, false, func(ctx context.Context) (bool, error) {
		if len(mirror.Status.LoadBalancer.Ingress) > 0 {
			return true, nil
		}
		found, err := b.mirror(ctx, service)
		if found != nil {
			mirror = found
		}
		return len(mirror.Status.LoadBalancer.Ingress) > 0, err
	})
	if err != nil {
		klog.ErrorS(err, "no address for the mirror", "service", klog.KObj(service), "mirror", klog.KObj(mirror))
		return nil, err
	}
	return &mirror.Status.LoadBalancer, nil
}

func (b balancer) UpdateLoadBalancer(ctx context.Context, _ string, service *v1.Service, _ []*v1.Node) error {
	name := cloudprovider.DefaultLoadBalancerName(service)
	mirror, err := b.mirrors().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		klog.ErrorS(err, "cannot read the mirror", "service", klog.KObj(service), "mirror", name)
		return err
	}
	return b.follow(ctx, mirror, service)
}

func (b balancer) EnsureLoadBalancerDeleted(ctx context.Context, _ string, service *v1.Service) error {
	mirror, err := b.mirror(ctx, service)
	if err != nil || mirror == nil {
		return err
	}
	if err := b.mirrors().Delete(ctx, mirror.Name, metav1.DeleteOptions{}); err != nil {
		klog.ErrorS(err, "cannot delete the mirror", "service", klog.KObj(service))
		return err
	}
	return nil
}

// mirror returns nil if the mirror does not exist.
func (b balancer) mirror(ctx context.Context, service *v1.Service) (*v1.Service, error) {
	mirror, err := b.mirrors().Get(ctx, cloudprovider.DefaultLoadBalancerName(service), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		klog.ErrorS(err, "cannot read the mirror", "service", klog.KObj(service))
		return nil, err
	}
	return mirror, nil
}

// follow updates the ports of a mirror if they differ from new ones. They always do, because of the
// API server's defaults, so each call writes; upstream does the same.
func (b balancer) follow(ctx context.Context, mirror, service *v1.Service) error {
	wanted := ports(service)
	if equality.Semantic.DeepEqual(wanted, mirror.Spec.Ports) {
		return nil
	}
	mirror.Spec.Ports = wanted
	_, err := b.mirrors().Update(ctx, mirror, metav1.UpdateOptions{})
	if err != nil {
		klog.ErrorS(err, "cannot update the mirror", "service", klog.KObj(service))
	}
	return err
}

func (b balancer) build(cluster string, service *v1.Service) *v1.Service {
	labels := map[string]string{nameLabel: service.Name, namespaceLabel: service.Namespace, clusterLabel: cluster}
	maps.Copy(labels, b.config.InfraLabels)
	mirror := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name: cloudprovider.DefaultLoadBalancerName(service), Namespace: b.namespace,
			Labels: labels, Annotations: maps.Clone(service.Annotations),
		},
		Spec: v1.ServiceSpec{
			Type: v1.ServiceTypeLoadBalancer, Ports: ports(service),
			ExternalTrafficPolicy: service.Spec.ExternalTrafficPolicy,
			ExternalIPs:           service.Spec.ExternalIPs,
			LoadBalancerIP:        service.Spec.LoadBalancerIP,
			HealthCheckNodePort:   service.Spec.HealthCheckNodePort,
		},
	}
	if !b.config.LoadBalancer.Selectorless {
		mirror.Spec.Selector = map[string]string{roleLabel: "worker", clusterLabel: cluster}
	}
	return mirror
}

// ports forward to the node ports of the guests.
func ports(service *v1.Service) []v1.ServicePort {
	made := []v1.ServicePort{}
	for _, port := range service.Spec.Ports {
		made = append(made, v1.ServicePort{Name: port.Name, Protocol: port.Protocol, Port: port.Port, TargetPort: intstr.FromInt32(port.NodePort)})
	}
	return made
}

func seconds(count int, usual time.Duration) time.Duration {
	if count <= 0 {
		return usual
	}
	return time.Duration(count) * time.Second
}
