package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"go.yaml.in/yaml/v2"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"
)

const providerName = "kubevirt"

// cloudConfig is the file of --cloud-config; unknown keys are ignored.
type cloudConfig struct {
	Kubeconfig   string            `yaml:"kubeconfig"`
	Namespace    string            `yaml:"namespace"`
	InfraLabels  map[string]string `yaml:"infraLabels"`
	LoadBalancer struct {
		Enabled             bool `yaml:"enabled"`
		PollInterval        int  `yaml:"creationPollInterval"`
		PollTimeout         int  `yaml:"creationPollTimeout"`
		Selectorless        bool `yaml:"selectorless"`
		EnableEPSController bool `yaml:"enableEPSController"`
	} `yaml:"loadBalancer"`
	InstancesV2 struct {
		Enabled       bool `yaml:"enabled"`
		ZoneAndRegion bool `yaml:"zoneAndRegionEnabled"`
	} `yaml:"instancesV2"`
}

const (
	pollInterval = 5 * time.Second
	pollTimeout  = 5 * time.Minute
)

func parse(text []byte) (cloudConfig, error) {
	var c cloudConfig
	c.LoadBalancer.Enabled = true
	c.InstancesV2.Enabled = true
	c.InstancesV2.ZoneAndRegion = true
	err := yaml.Unmarshal(text, &c)
	return c, err
}

// cloud is the namespace of the infrastructure cluster that contains the VMs of this cluster.
type cloud struct {
	config    cloudConfig
	namespace string
	kube      kubernetes.Interface
	dynamic   dynamic.Interface
}

func newCloud(file io.Reader) (cloudprovider.Interface, error) {
	if file == nil {
		return nil, errors.New("--cloud-config is missing")
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, fmt.Errorf("read the cloud config: %w", err)
	}
	config, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("parse the cloud config: %w", err)
	}
	if config.LoadBalancer.EnableEPSController {
		return nil, errors.New("loadBalancer.enableEPSController: this stand-in has no such controller")
	}
	infra, namespace, err := infrastructure(config)
	if err != nil {
		return nil, err
	}
	klog.InfoS("using the infrastructure cluster", "server", infra.Host, "namespace", namespace)
	kube, err := kubernetes.NewForConfig(infra)
	if err != nil {
		return nil, err
	}
	objects, err := dynamic.NewForConfig(infra)
	if err != nil {
		return nil, err
	}
	return &cloud{config: config, namespace: namespace, kube: kube, dynamic: objects}, nil
}

// infrastructure returns the cluster and namespace of the VMs. Without a kubeconfig it is the
// cluster that the pod runs in, and the namespace is required: with an empty one no VM is found.
func infrastructure(config cloudConfig) (*rest.Config, string, error) {
	if config.Kubeconfig == "" {
		infra, err := rest.InClusterConfig()
		return infra, config.Namespace, err
	}
	text, err := os.ReadFile(config.Kubeconfig)
	if err != nil {
		return nil, "", fmt.Errorf("read the infrastructure kubeconfig: %w", err)
	}
	client, err := clientcmd.NewClientConfigFromBytes(text)
	if err != nil {
		return nil, "", err
	}
	namespace := config.Namespace
	if namespace == "" {
		if namespace, _, err = client.Namespace(); err != nil {
			return nil, "", err
		}
	}
	infra, err := client.ClientConfig()
	return infra, namespace, err
}

func (c *cloud) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}

func (c *cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) {
	return balancer{c}, c.config.LoadBalancer.Enabled
}

func (c *cloud) InstancesV2() (cloudprovider.InstancesV2, bool) {
	return instances{c}, c.config.InstancesV2.Enabled
}

func (c *cloud) Instances() (cloudprovider.Instances, bool) { return nil, false }
func (c *cloud) Zones() (cloudprovider.Zones, bool)         { return nil, false }
func (c *cloud) Clusters() (cloudprovider.Clusters, bool)   { return nil, false }
func (c *cloud) Routes() (cloudprovider.Routes, bool)       { return nil, false }
func (c *cloud) ProviderName() string                       { return providerName }
func (c *cloud) HasClusterID() bool                         { return true }
