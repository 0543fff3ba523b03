package main

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
)

var (
	// A host that means every interface: whole, with a port or as one of several.
	everywhere = regexp.MustCompile(`(^|[=/,])(?:0\.0\.0\.0|\[::\]|::)($|[:,])`)
	// A port without a host.
	onlyPort = regexp.MustCompile(`^(--?[a-z0-9-]+=)?(:[0-9]+)$`)
)

// unbound are the flags without which a program listens on every interface, or
// on one that all pods share here.
var unbound = map[string][]string{
	"kube-apiserver":                    {"bind-address"},
	"kube-controller-manager":           {"bind-address"},
	"kube-scheduler":                    {"bind-address"},
	"kubevirt-cloud-controller-manager": {"bind-address"},
	"proxy-server":                      {"server-bind-address", "agent-bind-address", "admin-bind-address", "health-bind-address"},
	"proxy-agent":                       {"admin-bind-address", "health-server-host"},
	// A flag of the stand-in's own.
	"livenessprobe": {"sandbox-bind-address"},
}

// argv is the container's command line as the pod says it, but for listening
// addresses: pods share the computer's ports, so each has an address of its own.
func argv(container *v1.Container, env map[string]string, address string) []string {
	mapping := expansion.MappingFuncFor(env)
	args := make([]string, 0, len(container.Command)+len(container.Args))
	for _, arg := range container.Command {
		args = append(args, expansion.Expand(arg, mapping))
	}
	for _, arg := range container.Args {
		args = append(args, expansion.Expand(arg, mapping))
	}
	for i := range args[1:] {
		args[i+1] = own(args[i+1], address)
	}
	for _, flag := range unbound[path.Base(args[0])] {
		if !has(args, flag) {
			args = append(args, fmt.Sprintf("--%s=%s", flag, address))
		}
	}
	return args
}

func own(arg, address string) string {
	if found := onlyPort.FindStringSubmatch(arg); found != nil {
		return found[1] + address + found[2]
	}
	for everywhere.MatchString(arg) {
		arg = everywhere.ReplaceAllString(arg, "${1}"+address+"${2}")
	}
	return arg
}

func has(args []string, flag string) bool {
	for _, arg := range args {
		if arg == "--"+flag || strings.HasPrefix(arg, "--"+flag+"=") {
			return true
		}
	}
	return false
}
