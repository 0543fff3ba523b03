// Command kubevirt-cloud-controller-manager is a stand-in for KubeVirt's program of that name,
// which is not available from the Go module proxy. The controllers are those of Kubernetes; the
// cloud provider implements the documented behaviour of v0.6.0.
package main

import (
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/wait"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	"k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/cli/flag"
	"k8s.io/klog/v2"

	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
)

func main() {
	// Many of these run on one computer: prefer low memory use to speed.
	debug.SetGCPercent(50)
	cloudprovider.RegisterCloudProvider(providerName, newCloud)
	os.Exit(cli.Run(command()))
}

func command() *cobra.Command {
	o, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		klog.Fatalf("no options: %v", err)
	}
	c := app.NewCloudControllerManagerCommand(o, initialize, app.DefaultInitFuncConstructors, names.CCMControllerAliases(), flag.NamedFlagSets{}, wait.NeverStop)
	c.Use = "kubevirt-cloud-controller-manager"
	return c
}

// initialize exits the program if the cloud provider cannot be created.
func initialize(c *config.CompletedConfig) cloudprovider.Interface {
	klog.InfoS("this is the sandbox's stand-in for the KubeVirt cloud controller manager", "behaviour", "v0.6.0")
	asked := c.ComponentConfig.KubeCloudShared.CloudProvider
	cloud, err := cloudprovider.InitCloudProvider(asked.Name, asked.CloudConfigFile)
	if err != nil {
		klog.Fatalf("no cloud: %v", err)
	}
	if cloud == nil {
		klog.Fatalf("no cloud: --cloud-provider=%s", asked.Name)
	}
	return cloud
}
