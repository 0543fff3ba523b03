package kubeletconfig

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"

	"kvshoot.io/sandbox/kubernetes/guest/machine"
)

// packagedUnit is the unit, with its drop-in, of the packages kubelet and kubeadm.
const packagedUnit = `[Service]
ExecStart=/usr/bin/kubelet
[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf"
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
ExecStart=
ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
`

var (
	variable         = regexp.MustCompile(`^\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?$`)
	embeddedVariable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)
)

// arguments returns kubelet's arguments as systemd would construct them from its unit, drop-ins
// and environment files.
func arguments(m *machine.Machine) ([]string, error) {
	text := packagedUnit
	for _, folder := range []string{"/usr/lib/systemd/system/", "/lib/systemd/system/", "/etc/systemd/system/"} {
		if data, err := m.ReadFile(folder + "kubelet.service"); err == nil {
			text = string(data)
		}
	}
	drops := map[string]string{}
	for _, folder := range []string{"/usr/lib/systemd/system/", "/lib/systemd/system/", "/etc/systemd/system/"} {
		entries, _ := os.ReadDir(m.Path(folder + "kubelet.service.d"))
		for _, entry := range entries {
			if filepath.Ext(entry.Name()) == ".conf" {
				drops[entry.Name()] = folder + "kubelet.service.d/" + entry.Name()
			}
		}
	}
	names := make([]string, 0, len(drops))
	for name := range drops {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		data, err := m.ReadFile(drops[name])
		if err != nil {
			return nil, err
		}
		text += "\n" + string(data)
	}
	return commandLine(m, text)
}

func commandLine(m *machine.Machine, text string) ([]string, error) {
	env := map[string]string{}
	start := ""
	for _, line := range strings.Split(strings.ReplaceAll(text, "\\\n", " "), "\n") {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch key {
		case "Environment":
			for _, word := range splitWords(value) {
				if name, value, ok := strings.Cut(word, "="); ok {
					env[name] = value
				}
			}
		case "EnvironmentFile":
			optional := strings.HasPrefix(value, "-")
			data, err := m.ReadFile(strings.TrimPrefix(value, "-"))
			if err != nil && !optional {
				return nil, err
			}
			for _, line := range strings.Split(strings.ReplaceAll(string(data), "\\\n", " "), "\n") {
				line = strings.TrimSpace(line)
				if name, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
					env[strings.TrimSpace(name)] = unquote(strings.TrimSpace(value))
				}
			}
		case "ExecStart":
			start = value
		}
	}
	words := splitWords(start)
	if len(words) == 0 {
		return nil, errors.New("service has no ExecStart= setting")
	}
	var arguments []string
	for _, word := range words[1:] {
		if name := variable.FindStringSubmatch(word); name != nil && !strings.HasPrefix(word, "${") {
			arguments = append(arguments, splitWords(env[name[1]])...)
			continue
		}
		arguments = append(arguments, embeddedVariable.ReplaceAllStringFunc(word, func(match string) string { return env[match[2:len(match)-1]] }))
	}
	return arguments, nil
}

func unquote(text string) string {
	if len(text) > 1 && (text[0] == '"' || text[0] == '\'') && text[len(text)-1] == text[0] {
		return text[1 : len(text)-1]
	}
	return text
}

// splitWords splits a command line as systemd does: quotes protect spaces.
func splitWords(text string) []string {
	var words []string
	word, quote, open := strings.Builder{}, rune(0), false
	for _, r := range text {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, open = r, true
		case quote == 0 && (r == ' ' || r == '\t'):
			if open {
				words = append(words, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if open {
		words = append(words, word.String())
	}
	return words
}
