package qemu

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"kvshoot.io/sandbox/kubernetes/guest/cloudinit"
	"kvshoot.io/sandbox/kubernetes/guest/machine"
)

const seedDisk = "seed.iso"

// writeSeed makes the disk with the cloud-init data of a machine, as KubeVirt does.
func (v *VM) writeSeed(m *machine.Machine) error {
	userData, err := cloudinit.UserData(m)
	if err != nil {
		return err
	}
	networkData, err := cloudinit.NetworkData(m)
	if err != nil {
		return err
	}
	hostname, _, _ := strings.Cut(m.Name(), ".")
	metaData, err := json.Marshal(map[string]string{"instance-id": v.uuid, "local-hostname": hostname})
	if err != nil {
		return err
	}
	files := map[string][]byte{"user-data": userData, "meta-data": metaData}
	if len(networkData) > 0 {
		files["network-config"] = networkData
	}
	folder := filepath.Join(v.folder, "seed")
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			return err
		}
	}
	return v.run(isoProgram, "-as", "mkisofs", "-quiet", "-output", v.path(seedDisk), "-volid", "cidata", "-joliet", "-rock", folder)
}

// run runs a program of the installation to its end.
func (v *VM) run(name string, arguments ...string) error {
	output, err := exec.Command(filepath.Join(v.host.Installation, name), arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(string(output)))
	}
	return nil
}
