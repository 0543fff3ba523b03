// Command sandbox-cdi is one multi-call binary: cdi-controller and cdi-apiserver, and cdi-manifests
// DIR, which writes what cdi-operator would create. CDI's own commands listen on the same port of
// all addresses, so their main functions are replaced here.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"go.uber.org/zap/zapcore"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

func main() {
	name := filepath.Base(os.Args[0])
	programs := map[string]func([]string) error{
		"cdi-controller": controllerMain,
		"cdi-apiserver":  apiserverMain,
		"cdi-keys":       func(args []string) error { return keys(args[0]) },
		"cdi-manifests":  func(args []string) error { return manifests(args[0]) },
	}
	args := os.Args[1:]
	run, ok := programs[name]
	if !ok && len(args) > 0 {
		run, ok = programs[args[0]]
		args = args[1:]
	}
	if !ok {
		fmt.Fprintln(os.Stderr, "sandbox-cdi: call it as cdi-controller, cdi-apiserver, cdi-keys or cdi-manifests")
		os.Exit(2)
	}
	logf.SetLogger(zap.New(zap.Level(zapcore.InfoLevel)))
	if err := run(args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// options are the flags of both servers.
type options struct {
	kubeconfig, certs string
	port              int
}

func parse(args []string) options {
	var o options
	set := flag.NewFlagSet("sandbox-cdi", flag.ExitOnError)
	set.StringVar(&o.kubeconfig, "kubeconfig", "", "client configuration")
	set.StringVar(&o.certs, "certs", "", "folder of tls.crt, tls.key, id_rsa and id_rsa.pub")
	set.IntVar(&o.port, "port", 0, "port on 127.0.0.1")
	_ = set.Parse(args)
	return o
}

func (o options) config(qps float32) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = qps, int(2*qps)
	return config, nil
}
