package main

import (
	"fmt"
	"strings"
)

// stock are units that images bring along.
var stock = []string{
	"containerd", "kubelet", "systemd-", "qemu-guest-agent", "chrony", "ufw", "ssh", "ntp", "apparmor", "rc-local", "cloud-",
	"local-fs", "network", "multi-user", "swap", "firewalld", "multipathd", "unattended-upgrades", "apt-daily", "dbus", "cron", "rsyslog",
}

// commands looks whether what bootcmd and runcmd name is there; they are not
// run.
func (g *guest) commands(config *cloudConfig) error {
	for module, list := range map[string][]any{"bootcmd": config.Boot, "runcmd": config.Run} {
		for _, one := range list {
			var words []string
			switch command := one.(type) {
			case string:
				words = strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\n;&|(){}\"'", r) })
			case []any:
				for _, word := range command {
					words = append(words, fmt.Sprint(word))
				}
			default:
				return fmt.Errorf("%s: %v is neither a string nor a list", module, one)
			}
			if err := g.command(words); err != nil {
				return fmt.Errorf("%s: %w", module, err)
			}
		}
	}
	return nil
}

func (g *guest) command(words []string) error {
	units := false
	for i, word := range words {
		switch {
		case word == "systemctl":
			units = true
		case strings.HasPrefix(word, "-"):
		case units && (strings.HasSuffix(word, ".service") || strings.HasSuffix(word, ".timer") || strings.HasSuffix(word, ".path")):
			if err := g.unit(word); err != nil {
				return err
			}
		case i == 0 && g.local(word), i == 1 && g.local(word) && shell(words[0]):
			if !g.has(word) {
				return fmt.Errorf("%s: no such file or directory", word)
			}
		}
	}
	return nil
}

func shell(word string) bool {
	return strings.HasSuffix(word, "bash") || strings.HasSuffix(word, "/sh") || word == "sh"
}

// local tells whether a path is one that no image would bring.
func (g *guest) local(path string) bool {
	for _, folder := range []string{"/opt/", "/usr/local/", "/var/lib/", "/etc/kvshoot", "/root/"} {
		if strings.HasPrefix(path, folder) {
			return true
		}
	}
	return false
}

// unit looks for a unit and for the program that it starts.
func (g *guest) unit(name string) error {
	for _, folder := range []string{"/etc/systemd/system/", "/usr/lib/systemd/system/", "/lib/systemd/system/"} {
		data, err := g.read(folder + name)
		if err != nil {
			continue
		}
		for _, line := range strings.Split(string(data), "\n") {
			start, ok := strings.CutPrefix(strings.TrimSpace(line), "ExecStart=")
			if !ok || start == "" {
				continue
			}
			words := strings.Fields(strings.TrimLeft(start, "-@:+!"))
			if err := g.command(words); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	}
	for _, known := range stock {
		if strings.HasPrefix(name, known) {
			return nil
		}
	}
	return fmt.Errorf("unit %s not found", name)
}
