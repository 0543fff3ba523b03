// Package konnectivity runs the konnectivity server and agent with their real code.
package konnectivity

import (
	"flag"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
	agent "sigs.k8s.io/apiserver-network-proxy/cmd/agent/app"
	agentoptions "sigs.k8s.io/apiserver-network-proxy/cmd/agent/app/options"
	server "sigs.k8s.io/apiserver-network-proxy/cmd/server/app"
	serveroptions "sigs.k8s.io/apiserver-network-proxy/cmd/server/app/options"
	"sigs.k8s.io/apiserver-network-proxy/pkg/util"
)

// ProxyServer runs the program proxy-server.
func ProxyServer() int {
	o := serveroptions.NewProxyRunOptions()
	return run(server.NewProxyCommand(&server.Proxy{}, o), o.Flags())
}

// ProxyAgent runs the program proxy-agent.
func ProxyAgent() int {
	o := agentoptions.NewGrpcProxyAgentOptions()
	return run(agent.NewAgentCommand(&agent.Agent{}, o), o.Flags())
}

func run(command *cobra.Command, options *pflag.FlagSet) int {
	flags := command.Flags()
	flags.AddFlagSet(options)
	local := flag.NewFlagSet(os.Args[0], flag.ExitOnError)
	klog.InitFlags(local)
	local.VisitAll(func(f *flag.Flag) {
		f.Name = util.Normalize(f.Name)
		flags.AddGoFlag(f)
	})
	if err := command.Execute(); err != nil {
		klog.ErrorS(err, "failed")
		klog.Flush()
		return 1
	}
	return 0
}
