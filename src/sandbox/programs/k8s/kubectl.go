package main

import (
	"os"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/component-base/cli/flag"
	"k8s.io/kubectl/pkg/cmd/apply"
	"k8s.io/kubectl/pkg/cmd/auth"
	"k8s.io/kubectl/pkg/cmd/create"
	"k8s.io/kubectl/pkg/cmd/delete"
	"k8s.io/kubectl/pkg/cmd/exec"
	"k8s.io/kubectl/pkg/cmd/get"
	"k8s.io/kubectl/pkg/cmd/logs"
	"k8s.io/kubectl/pkg/cmd/patch"
	"k8s.io/kubectl/pkg/cmd/portforward"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
)

// kubectl has the subcommands that the sandbox and its tests use; those of all others would only take
// time to compile.
func kubectl() *cobra.Command {
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	config := genericclioptions.NewConfigFlags(true).WithDiscoveryBurst(300).WithDiscoveryQPS(50).WithWarningPrinter(streams)
	root := &cobra.Command{Use: "kubectl", Short: "kubectl controls the Kubernetes cluster manager", SilenceUsage: true}
	root.SetGlobalNormalizationFunc(flag.WordSepNormalizeFunc)
	config.AddFlags(root.PersistentFlags())
	f := cmdutil.NewFactory(cmdutil.NewMatchVersionFlags(config))
	root.AddCommand(
		apply.NewCmdApply("kubectl", f, streams),
		auth.NewCmdAuth(f, streams),
		create.NewCmdCreate(f, streams),
		delete.NewCmdDelete(f, streams),
		exec.NewCmdExec(f, streams),
		get.NewCmdGet("kubectl", f, streams),
		logs.NewCmdLogs(f, streams),
		patch.NewCmdPatch(f, streams),
		portforward.NewCmdPortForward(f, streams),
	)
	return root
}
