package main

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var errNoSource = errors.New("no data source found: the machine has no cloud-init volume")

// cloudConfig is what of a #cloud-config matters to a node.
type cloudConfig struct {
	Hostname string      `json:"hostname"`
	Files    []cloudFile `json:"write_files"`
	Boot     []any       `json:"bootcmd"`
	Run      []any       `json:"runcmd"`
}

type cloudFile struct {
	Path        string `json:"path"`
	Content     string `json:"content"`
	Encoding    string `json:"encoding"`
	Permissions any    `json:"permissions"`
	Append      bool   `json:"append"`
}

// cloudInit does what cloud-init does at a boot: the files once for each
// instance, as its own rule is.
func (g *guest) cloudInit() error {
	instance, _, _ := unstructured.NestedString(g.vmi.Object, "spec", "domain", "firmware", "uuid")
	if !persistent(g.vmi) {
		// The disk came with the image and starts anew with it.
		known, _ := os.ReadFile(g.root + ".boot")
		if string(known) != string(g.vmi.GetUID()) {
			if err := os.RemoveAll(g.root); err != nil {
				return err
			}
		}
		_ = os.WriteFile(g.root+".boot", []byte(g.vmi.GetUID()), 0o600)
	}
	const mark = "/var/lib/cloud/data/instance-id"
	if known, err := g.read(mark); err == nil && instance != "" && string(known) == instance {
		g.say("cloud-init: this instance was set up before")
		return nil
	}
	data, err := g.userData()
	if err != nil {
		return err
	}
	config, err := parseUserData(data)
	if err != nil {
		return err
	}
	for _, file := range config.Files {
		if err := g.write(file); err != nil {
			return fmt.Errorf("write_files: %s: %w", file.Path, err)
		}
	}
	name := config.Hostname
	if name == "" {
		name, _, _ = strings.Cut(g.vmi.GetName(), ".")
	}
	if err := g.write(cloudFile{Path: "/etc/hostname", Content: name + "\n"}); err != nil {
		return err
	}
	if err := g.commands(config); err != nil {
		return err
	}
	g.say(fmt.Sprintf("cloud-init: %d files written, modules done", len(config.Files)))
	return g.write(cloudFile{Path: mark, Content: instance})
}

// persistent tells whether the first disk outlives a start.
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

// userData reads the Secret, or the text, that the machine's own volume names.
func (g *guest) userData() ([]byte, error) {
	volumes, _, _ := unstructured.NestedSlice(g.vmi.Object, "spec", "volumes")
	for _, one := range volumes {
		volume, _ := one.(map[string]any)
		for _, kind := range []string{"cloudInitNoCloud", "cloudInitConfigDrive"} {
			source, _ := volume[kind].(map[string]any)
			if source == nil {
				continue
			}
			if text, _ := source["userData"].(string); text != "" {
				return []byte(text), nil
			}
			if text, _ := source["userDataBase64"].(string); text != "" {
				return base64.StdEncoding.DecodeString(text)
			}
			name, _, _ := unstructured.NestedString(source, "secretRef", "name")
			if name == "" {
				return nil, fmt.Errorf("volume %v has no user data", volume["name"])
			}
			secret, err := g.all.sim.kube.CoreV1().Secrets(g.vmi.GetNamespace()).Get(g.ctx, name, metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			for _, key := range []string{"userdata", "userData"} {
				if data := secret.Data[key]; len(data) > 0 {
					return data, nil
				}
			}
			return nil, fmt.Errorf("secret %s has no key userdata", name)
		}
	}
	return nil, errNoSource
}

// parseUserData refuses what cloud-init would not take for configuration.
func parseUserData(data []byte) (*cloudConfig, error) {
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		plain, err := gunzip(data)
		if err != nil {
			return nil, err
		}
		data = plain
	}
	if bytes.HasPrefix(data, []byte("Content-Type: multipart/")) || bytes.HasPrefix(data, []byte("MIME-Version:")) {
		part, err := cloudPart(data)
		if err != nil {
			return nil, err
		}
		data = part
	}
	first, _, _ := bytes.Cut(data, []byte("\n"))
	if strings.TrimSpace(string(first)) != "#cloud-config" {
		return nil, fmt.Errorf("unhandled non-multipart (text/x-not-multipart) userdata: %.40q", first)
	}
	plain, err := yaml.YAMLToJSON(data)
	if err != nil {
		return nil, fmt.Errorf("failed loading yaml blob: %w", err)
	}
	config := &cloudConfig{}
	if err := json.Unmarshal(plain, config); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return config, nil
}

func cloudPart(data []byte) ([]byte, error) {
	message, err := mail.ReadMessage(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	_, params, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		return nil, err
	}
	reader := multipart.NewReader(message.Body, params["boundary"])
	for {
		part, err := reader.NextPart()
		if err != nil {
			return nil, fmt.Errorf("multi-part userdata has no text/cloud-config: %w", err)
		}
		if kind, _, _ := mime.ParseMediaType(part.Header.Get("Content-Type")); kind != "text/cloud-config" {
			continue
		}
		body, err := io.ReadAll(part)
		if err == nil && strings.EqualFold(part.Header.Get("Content-Transfer-Encoding"), "base64") {
			body, err = base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(body)), ""))
		}
		return body, err
	}
}

func gunzip(data []byte) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(reader)
}

func (f cloudFile) content() ([]byte, error) {
	data := []byte(f.Content)
	encoding := strings.ToLower(f.Encoding)
	var err error
	switch encoding {
	case "", "text/plain":
		return data, nil
	case "b64", "base64", "gz", "gzip", "gz+b64", "gz+base64", "gzip+b64", "gzip+base64":
	default:
		return nil, fmt.Errorf("unknown encoding type %s", f.Encoding)
	}
	if strings.Contains(encoding, "b64") || strings.Contains(encoding, "base64") {
		if data, err = base64.StdEncoding.DecodeString(strings.Join(strings.Fields(f.Content), "")); err != nil {
			return nil, err
		}
	}
	if strings.HasPrefix(encoding, "gz") {
		return gunzip(data)
	}
	return data, nil
}

func (f cloudFile) mode() (os.FileMode, error) {
	switch value := f.Permissions.(type) {
	case nil:
		return 0o644, nil
	case float64:
		return os.FileMode(value), nil
	case string:
		mode, err := strconv.ParseUint(strings.TrimPrefix(value, "0o"), 8, 32)
		return os.FileMode(mode), err
	default:
		return 0, fmt.Errorf("permissions %v are not a string", value)
	}
}

func (g *guest) write(file cloudFile) error {
	if !filepath.IsAbs(file.Path) {
		return errors.New("path is not absolute")
	}
	data, err := file.content()
	if err != nil {
		return err
	}
	mode, err := file.mode()
	if err != nil {
		return err
	}
	path := g.at(file.Path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	how := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if file.Append {
		how = os.O_CREATE | os.O_WRONLY | os.O_APPEND
	}
	out, err := os.OpenFile(path, how, 0o600)
	if err != nil {
		return err
	}
	_, err = out.Write(data)
	// Whoever may not read the sandbox must not read a guest's files either.
	return errors.Join(err, out.Chmod(mode|0o600), out.Close())
}
