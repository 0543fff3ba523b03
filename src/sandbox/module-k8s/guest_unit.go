package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

// What the packages of kubelet and kubeadm bring into an image.
const packaged = `[Service]
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
	variable = regexp.MustCompile(`^\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?$`)
	inside   = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)
)

// arguments are kubelet's, as systemd would make them of its unit, drop-ins
// and environment files.
func (g *guest) arguments() ([]string, error) {
	text := packaged
	for _, folder := range []string{"/usr/lib/systemd/system/", "/lib/systemd/system/", "/etc/systemd/system/"} {
		if data, err := g.read(folder + "kubelet.service"); err == nil {
			text = string(data)
		}
	}
	drops := map[string]string{}
	for _, folder := range []string{"/usr/lib/systemd/system/", "/lib/systemd/system/", "/etc/systemd/system/"} {
		entries, _ := os.ReadDir(g.at(folder + "kubelet.service.d"))
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
		data, err := g.read(drops[name])
		if err != nil {
			return nil, err
		}
		text += "\n" + string(data)
	}
	return g.started(text)
}

func (g *guest) started(text string) ([]string, error) {
	env := map[string]string{}
	start := ""
	for _, line := range strings.Split(strings.ReplaceAll(text, "\\\n", " "), "\n") {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch key {
		case "Environment":
			for _, word := range split(value) {
				if name, value, ok := strings.Cut(word, "="); ok {
					env[name] = value
				}
			}
		case "EnvironmentFile":
			optional := strings.HasPrefix(value, "-")
			data, err := g.read(strings.TrimPrefix(value, "-"))
			if err != nil && !optional {
				return nil, err
			}
			for _, line := range strings.Split(strings.ReplaceAll(string(data), "\\\n", " "), "\n") {
				line = strings.TrimSpace(line)
				if name, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
					env[strings.TrimSpace(name)] = unquoted(strings.TrimSpace(value))
				}
			}
		case "ExecStart":
			start = value
		}
	}
	words := split(start)
	if len(words) == 0 {
		return nil, errors.New("service has no ExecStart= setting")
	}
	var arguments []string
	for _, word := range words[1:] {
		if name := variable.FindStringSubmatch(word); name != nil && !strings.HasPrefix(word, "${") {
			arguments = append(arguments, split(env[name[1]])...)
			continue
		}
		arguments = append(arguments, inside.ReplaceAllStringFunc(word, func(match string) string { return env[match[2:len(match)-1]] }))
	}
	return arguments, nil
}

func unquoted(text string) string {
	if len(text) > 1 && (text[0] == '"' || text[0] == '\'') && text[len(text)-1] == text[0] {
		return text[1 : len(text)-1]
	}
	return text
}

// split makes words as systemd does: quotes keep spaces.
func split(text string) []string {
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
