package cloudinit

import (
	"fmt"
	"strings"

	"kvshoot.io/sandbox/kubernetes/guest/machine"
)

// imageUnits are prefixes of units that images contain.
var imageUnits = []string{
	"containerd", "kubelet", "systemd-", "qemu-guest-agent", "chrony", "ufw", "ssh", "ntp", "apparmor", "rc-local", "cloud-",
	"local-fs", "network", "multi-user", "swap", "firewalld", "multipathd", "unattended-upgrades", "apt-daily", "dbus", "cron", "rsyslog",
}

// checkCommands checks that the programs and units exist that bootcmd and runcmd start. The
// commands are not run.
func checkCommands(m *machine.Machine, config *cloudConfig) error {
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
			if err := checkCommand(m, words); err != nil {
				return fmt.Errorf("%s: %w", module, err)
			}
		}
	}
	return nil
}

func checkCommand(m *machine.Machine, words []string) error {
	units := false
	for i, word := range words {
		switch {
		case word == "systemctl":
			units = true
		case strings.HasPrefix(word, "-"):
		case units && (strings.HasSuffix(word, ".service") || strings.HasSuffix(word, ".timer") || strings.HasSuffix(word, ".path")):
			if err := checkUnit(m, word); err != nil {
				return err
			}
		case i == 0 && local(word), i == 1 && local(word) && isShell(words[0]):
			if !m.Exists(word) {
				return fmt.Errorf("%s: no such file or directory", word)
			}
		}
	}
	return nil
}

func isShell(word string) bool {
	return strings.HasSuffix(word, "bash") || strings.HasSuffix(word, "/sh") || word == "sh"
}

// local reports whether a path is one that no image contains.
func local(path string) bool {
	for _, folder := range []string{"/opt/", "/usr/local/", "/var/lib/", "/etc/kvshoot", "/root/"} {
		if strings.HasPrefix(path, folder) {
			return true
		}
	}
	return false
}

// checkUnit checks that a unit exists, and the program that it starts.
func checkUnit(m *machine.Machine, name string) error {
	for _, folder := range []string{"/etc/systemd/system/", "/usr/lib/systemd/system/", "/lib/systemd/system/"} {
		data, err := m.ReadFile(folder + name)
		if err != nil {
			continue
		}
		for _, line := range strings.Split(string(data), "\n") {
			start, ok := strings.CutPrefix(strings.TrimSpace(line), "ExecStart=")
			if !ok || start == "" {
				continue
			}
			words := strings.Fields(strings.TrimLeft(start, "-@:+!"))
			if err := checkCommand(m, words); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	}
	for _, known := range imageUnits {
		if strings.HasPrefix(name, known) {
			return nil
		}
	}
	return fmt.Errorf("unit %s not found", name)
}
