package pods

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
)

var (
	// A host that means all interfaces: alone, with a port or in a list.
	anyAddress = regexp.MustCompile(`(^|[=/,])(?:0\.0\.0\.0|\[::\]|::)($|[:,])`)
	// A port without a host.
	portOnly = regexp.MustCompile(`^(--?[a-z0-9-]+=)?(:[0-9]+)$`)
)

// bindFlags are the flags without which a program listens on all interfaces, or on one that
// all pods share here.
var bindFlags = map[string][]string{
	"kube-apiserver":                    {"bind-address"},
	"kube-controller-manager":           {"bind-address"},
	"kube-scheduler":                    {"bind-address"},
	"kubevirt-cloud-controller-manager": {"bind-address"},
	"proxy-server":                      {"server-bind-address", "agent-bind-address", "admin-bind-address", "health-bind-address"},
	"proxy-agent":                       {"admin-bind-address", "health-server-host"},
	// Only the stand-in has this flag.
	"livenessprobe": {"sandbox-bind-address"},
}

// arguments returns the container's command line, with its listening addresses replaced by
// the pod's: pods share the host's ports, so each listens on its own address.
func arguments(container *v1.Container, env map[string]string, address string) []string {
	mapping := expansion.MappingFuncFor(env)
	args := make([]string, 0, len(container.Command)+len(container.Args))
	for _, arg := range container.Command {
		args = append(args, expansion.Expand(arg, mapping))
	}
	for _, arg := range container.Args {
		args = append(args, expansion.Expand(arg, mapping))
	}
	for i := range args[1:] {
		args[i+1] = bindTo(args[i+1], address)
	}
	for _, flag := range bindFlags[path.Base(args[0])] {
		if !hasFlag(args, flag) {
			args = append(args, fmt.Sprintf("--%s=%s", flag, address))
		}
	}
	return args
}

func bindTo(arg, address string) string {
	if found := portOnly.FindStringSubmatch(arg); found != nil {
		return found[1] + address + found[2]
	}
	for anyAddress.MatchString(arg) {
		arg = anyAddress.ReplaceAllString(arg, "${1}"+address+"${2}")
	}
	return arg
}

func hasFlag(args []string, flag string) bool {
	for _, arg := range args {
		if arg == "--"+flag || strings.HasPrefix(arg, "--"+flag+"=") {
			return true
		}
	}
	return false
}
