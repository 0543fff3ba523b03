// Package cloudinit does what cloud-init does when a machine boots: it reads the user data,
// writes its files and checks its commands.
package cloudinit

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kvshoot.io/sandbox/kubernetes/guest/machine"
)

// ErrNoSource means that a machine has no cloud-init volume.
var ErrNoSource = errors.New("no data source found: the machine has no cloud-init volume")

// Run applies the user data of a machine, once for each instance as cloud-init does.
func Run(m *machine.Machine) error {
	instance, _, _ := unstructured.NestedString(m.VMI.Object, "spec", "domain", "firmware", "uuid")
	if !persistent(m.VMI) {
		// The disk is part of the image, and is new at each start.
		known, _ := os.ReadFile(m.Root + ".boot")
		if string(known) != string(m.VMI.GetUID()) {
			if err := os.RemoveAll(m.Root); err != nil {
				return err
			}
		}
		_ = os.WriteFile(m.Root+".boot", []byte(m.VMI.GetUID()), 0o600)
	}
	const instanceFile = "/var/lib/cloud/data/instance-id"
	if known, err := m.ReadFile(instanceFile); err == nil && instance != "" && string(known) == instance {
		m.Print("cloud-init: this instance was set up at an earlier boot")
		return nil
	}
	data, err := UserData(m)
	if err != nil {
		return err
	}
	config, err := parse(data)
	if err != nil {
		return err
	}
	for _, f := range config.Files {
		if err := f.write(m); err != nil {
			return fmt.Errorf("write_files: %s: %w", f.Path, err)
		}
	}
	name := config.Hostname
	if name == "" {
		name, _, _ = strings.Cut(m.VMI.GetName(), ".")
	}
	if err := (file{Path: "/etc/hostname", Content: name + "\n"}).write(m); err != nil {
		return err
	}
	if err := checkCommands(m, config); err != nil {
		return err
	}
	m.Print(fmt.Sprintf("cloud-init: %d files written, modules done", len(config.Files)))
	return file{Path: instanceFile, Content: instance}.write(m)
}

// persistent reports whether the first disk survives a restart.
func persistent(vmi *unstructured.Unstructured) bool {
	volumes, _, _ := unstructured.NestedSlice(vmi.Object, "spec", "volumes")
	for _, one := range volumes {
		volume, _ := one.(map[string]any)
		if volume["dataVolume"] != nil || volume["persistentVolumeClaim"] != nil {
			return true
		}
		if volume["containerDisk"] != nil {
			return false
		}
	}
	return false
}

// UserData reads the user data from the machine's cloud-init volume, or the Secret that it names.
func UserData(m *machine.Machine) ([]byte, error) {
	source, name, err := source(m.VMI)
	if err != nil {
		return nil, err
	}
	data, err := read(m, source, "userData", "secretRef")
	if err == nil && len(data) == 0 {
		err = fmt.Errorf("volume %s has no user data", name)
	}
	return data, err
}

// NetworkData reads the network configuration, which a machine may have besides its user data.
func NetworkData(m *machine.Machine) ([]byte, error) {
	source, _, err := source(m.VMI)
	if err != nil {
		return nil, err
	}
	return read(m, source, "networkData", "networkDataSecretRef")
}

// source returns the cloud-init volume of a machine, and its name.
func source(vmi *unstructured.Unstructured) (map[string]any, string, error) {
	volumes, _, _ := unstructured.NestedSlice(vmi.Object, "spec", "volumes")
	for _, one := range volumes {
		volume, _ := one.(map[string]any)
		for _, kind := range []string{"cloudInitNoCloud", "cloudInitConfigDrive"} {
			if source, _ := volume[kind].(map[string]any); source != nil {
				return source, fmt.Sprint(volume["name"]), nil
			}
		}
	}
	return nil, "", ErrNoSource
}

// read reads data that a volume contains, or that is in the Secret which it refers to.
func read(m *machine.Machine, source map[string]any, field, reference string) ([]byte, error) {
	if text, _ := source[field].(string); text != "" {
		return []byte(text), nil
	}
	if text, _ := source[field+"Base64"].(string); text != "" {
		return base64.StdEncoding.DecodeString(text)
	}
	name, _, _ := unstructured.NestedString(source, reference, "name")
	if name == "" {
		return nil, nil
	}
	secret, err := m.Client.CoreV1().Secrets(m.VMI.GetNamespace()).Get(m.Context, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	for _, key := range []string{strings.ToLower(field), field} {
		if data := secret.Data[key]; len(data) > 0 {
			return data, nil
		}
	}
	return nil, fmt.Errorf("secret %s has no key %s", name, strings.ToLower(field))
}
