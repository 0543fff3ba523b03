// Package kubeletconfig reads the command line and the configuration file of a machine's kubelet.
package kubeletconfig

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/cli/flag"
	logs "k8s.io/component-base/logs/api/v1"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	internal "k8s.io/kubernetes/pkg/kubelet/apis/config"
	kubeletscheme "k8s.io/kubernetes/pkg/kubelet/apis/config/scheme"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/validation"

	"kvshoot.io/sandbox/kubernetes/guest/machine"
)

const (
	// The version of the libraries that read the configuration; used if the user data
	// requests none.
	defaultVersion = "v1.36.3"
	manual         = "https://kubernetes.io/docs/reference/command-line-tools-reference/kubelet/"
)

var versionPatterns = []*regexp.Regexp{
	regexp.MustCompile(`/release/(v1\.\d+\.\d+)/bin/linux/`),
	regexp.MustCompile(`(?i)kube(?:let|rnetes)[_-]?version["']?\s*[=:]\s*["']?v?(1\.\d+\.\d+)`),
}

// Exists reports whether the machine has any configuration of a kubelet.
func Exists(m *machine.Machine) bool {
	for _, path := range []string{"/var/lib/kubelet/config.yaml", "/var/lib/kubelet/kubeadm-flags.env", "/etc/kubernetes/bootstrap-kubelet.conf"} {
		if m.Exists(path) {
			return true
		}
	}
	return false
}

// Settings are kubelet's flags, and its configuration file overridden by the flags.
type Settings struct {
	Flags   *options.KubeletFlags
	Config  *internal.KubeletConfiguration
	Version string
}

// Load reads kubelet's command line and file with kubelet's own code, and refuses what kubelet
// would refuse.
func Load(m *machine.Machine) (*Settings, error) {
	arguments, err := arguments(m)
	if err != nil {
		return nil, err
	}
	m.Print("kubelet.service: kubelet " + strings.Join(arguments, " "))
	flags := options.NewKubeletFlags()
	config, err := options.NewKubeletConfiguration()
	if err != nil {
		return nil, err
	}
	set := addFlags(m, flags, config)
	if err := set.Parse(arguments); err != nil {
		return nil, fmt.Errorf("failed to parse kubelet flag: %w (see %s)", err, manual)
	}
	if set.NArg() > 0 {
		return nil, fmt.Errorf("unknown command %s", set.Arg(0))
	}
	if err := options.ValidateKubeletFlags(flags); err != nil {
		return nil, fmt.Errorf("failed to validate kubelet flags: %w", err)
	}
	if flags.KubeletConfigFile != "" {
		if config, err = configFile(m, flags.KubeletConfigFile); err != nil {
			return nil, fmt.Errorf("failed to load kubelet config file, path: %s, error: %w", flags.KubeletConfigFile, err)
		}
		gates := config.FeatureGates
		set := addFlags(m, options.NewKubeletFlags(), config)
		set.SetOutput(io.Discard)
		if err := set.Parse(arguments); err != nil {
			return nil, err
		}
		for gate, on := range gates {
			if _, known := config.FeatureGates[gate]; !known {
				config.FeatureGates[gate] = on
			}
		}
	}
	gate := utilfeature.DefaultMutableFeatureGate.DeepCopy()
	if err := gate.SetFromMap(config.FeatureGates); err != nil {
		return nil, fmt.Errorf("failed to set feature gates from initial flags-based config: %w", err)
	}
	if errs := logs.Validate(&config.Logging, gate, field.NewPath("logging")); len(errs) > 0 {
		return nil, fmt.Errorf("initialize logging: %w", errs.ToAggregate())
	}
	// Validation reads this computer's cgroup version; the guest has version 2.
	validated := config.DeepCopy()
	validated.FailCgroupV1 = false
	if err := validation.ValidateKubeletConfiguration(validated, gate); err != nil {
		return nil, fmt.Errorf("failed to validate kubelet configuration, error: %w", err)
	}
	if path := config.Authentication.X509.ClientCAFile; path != "" && !m.Exists(path) {
		return nil, fmt.Errorf("unable to load client CA file %s: open %s: no such file or directory", path, path)
	}
	return &Settings{Flags: flags, Config: config, Version: version(m)}, nil
}

// addFlags returns kubelet's flags. Those that would change this process are parsed and ignored.
func addFlags(m *machine.Machine, flags *options.KubeletFlags, config *internal.KubeletConfiguration) *pflag.FlagSet {
	set := pflag.NewFlagSet("kubelet", pflag.ContinueOnError)
	set.SetNormalizeFunc(flag.WordSepNormalizeFunc)
	set.SetOutput(m.Console)
	set.Usage = func() {}
	flags.AddFlags(set)
	options.AddKubeletConfigFlags(set, config)
	global := pflag.NewFlagSet("global", pflag.ContinueOnError)
	global.SetNormalizeFunc(flag.WordSepNormalizeFunc)
	options.AddGlobalFlags(global)
	global.VisitAll(func(f *pflag.Flag) {
		set.VarPF(flag.NoOp{}, f.Name, f.Shorthand, f.Usage).NoOptDefVal = f.NoOptDefVal
	})
	return set
}

func configFile(m *machine.Machine, path string) (config *internal.KubeletConfiguration, err error) {
	// An unknown feature gate makes kubelet panic, too.
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("panic: %v", panicked)
		}
	}()
	data, err := m.ReadFile(path)
	if err != nil {
		return nil, err
	}
	_, codecs, err := kubeletscheme.NewSchemeAndCodecs(serializer.EnableStrict)
	if err != nil {
		return nil, err
	}
	// Kubelet only warns about unknown fields. Here they are errors, so that mistakes are noticed.
	object, _, err := codecs.UniversalDecoder().Decode(data, nil, nil)
	if err != nil {
		return nil, err
	}
	config, ok := object.(*internal.KubeletConfiguration)
	if !ok {
		return nil, fmt.Errorf("unexpected type: %T", object)
	}
	// Kubelet's internal defaults, which are separate from the versioned ones.
	defaults := map[string]string{
		"memory.available": "100Mi", "nodefs.available": "10%", "nodefs.inodesFree": "5%",
		"imagefs.available": "15%", "imagefs.inodesFree": "5%",
	}
	if config.EvictionHard == nil {
		config.EvictionHard = defaults
	} else if config.MergeDefaultEvictionSettings {
		for signal, value := range defaults {
			if _, set := config.EvictionHard[signal]; !set {
				config.EvictionHard[signal] = value
			}
		}
	}
	return config, nil
}

// version returns the version of the kubelet that the user data installs.
func version(m *machine.Machine) string {
	found := defaultVersion
	m.EachFile("/", func(_ string, data []byte) {
		for _, pattern := range versionPatterns {
			if match := pattern.FindSubmatch(data); match != nil {
				found = "v" + strings.TrimPrefix(string(match[1]), "v")
			}
		}
	})
	return found
}
