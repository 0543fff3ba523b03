package main

import (
	"fmt"
	"os"
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
)

const (
	// The version of the libraries that read the configuration, when the user
	// data asks for none.
	ownVersion = "v1.36.3"
	manual     = "https://kubernetes.io/docs/reference/command-line-tools-reference/kubelet/"
)

var wanted = []*regexp.Regexp{
	regexp.MustCompile(`/release/(v1\.\d+\.\d+)/bin/linux/`),
	regexp.MustCompile(`(?i)kube(?:let|rnetes)[_-]?version["']?\s*[=:]\s*["']?v?(1\.\d+\.\d+)`),
}

// settings are what kubelet runs with: flags over its file.
type settings struct {
	flags   *options.KubeletFlags
	config  *internal.KubeletConfiguration
	version string
}

// settings reads kubelet's command line and file by kubelet's own code, and
// refuses what it would refuse.
func (g *guest) settings() (*settings, error) {
	arguments, err := g.arguments()
	if err != nil {
		return nil, err
	}
	g.say("kubelet.service: kubelet " + strings.Join(arguments, " "))
	flags := options.NewKubeletFlags()
	config, err := options.NewKubeletConfiguration()
	if err != nil {
		return nil, err
	}
	set := g.flags(flags, config)
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
		if config, err = g.configFile(flags.KubeletConfigFile); err != nil {
			return nil, fmt.Errorf("failed to load kubelet config file, path: %s, error: %w", flags.KubeletConfigFile, err)
		}
		gates := config.FeatureGates
		set := g.flags(options.NewKubeletFlags(), config)
		set.SetOutput(discard{})
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
	// It looks at this computer's cgroups; the guest's are version 2.
	judged := config.DeepCopy()
	judged.FailCgroupV1 = false
	if err := validation.ValidateKubeletConfiguration(judged, gate); err != nil {
		return nil, fmt.Errorf("failed to validate kubelet configuration, error: %w", err)
	}
	if path := config.Authentication.X509.ClientCAFile; path != "" && !g.has(path) {
		return nil, fmt.Errorf("unable to load client CA file %s: open %s: no such file or directory", path, path)
	}
	return &settings{flags: flags, config: config, version: g.version()}, nil
}

// flags are all that kubelet takes; those that would change this program are
// only read.
func (g *guest) flags(flags *options.KubeletFlags, config *internal.KubeletConfiguration) *pflag.FlagSet {
	set := pflag.NewFlagSet("kubelet", pflag.ContinueOnError)
	set.SetNormalizeFunc(flag.WordSepNormalizeFunc)
	set.SetOutput(g.console)
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

func (g *guest) configFile(path string) (config *internal.KubeletConfiguration, err error) {
	// What an unknown feature gate does to kubelet, too.
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("panic: %v", panicked)
		}
	}()
	data, err := g.read(path)
	if err != nil {
		return nil, err
	}
	_, codecs, err := kubeletscheme.NewSchemeAndCodecs(serializer.EnableStrict)
	if err != nil {
		return nil, err
	}
	// Kubelet itself only warns of what it does not know; here nothing is to be overlooked.
	object, _, err := codecs.UniversalDecoder().Decode(data, nil, nil)
	if err != nil {
		return nil, err
	}
	config, ok := object.(*internal.KubeletConfiguration)
	if !ok {
		return nil, fmt.Errorf("unexpected type: %T", object)
	}
	// Kubelet's own defaults, kept apart from the versioned ones.
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

// version is that of the kubelet that the user data installs.
func (g *guest) version() string {
	found := ownVersion
	g.eachFile("/", func(_ string, data []byte) {
		for _, pattern := range wanted {
			if match := pattern.FindSubmatch(data); match != nil {
				found = "v" + strings.TrimPrefix(string(match[1]), "v")
			}
		}
	})
	return found
}

// eachFile shows every file of the guest below a folder.
func (g *guest) eachFile(folder string, show func(path string, data []byte)) {
	entries, _ := os.ReadDir(g.at(folder))
	for _, entry := range entries {
		path := strings.TrimSuffix(folder, "/") + "/" + entry.Name()
		if entry.IsDir() {
			g.eachFile(path, show)
		} else if data, err := g.read(path); err == nil {
			show(path, data)
		}
	}
}

type discard struct{}

func (discard) Write(data []byte) (int, error) { return len(data), nil }
