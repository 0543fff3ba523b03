package cloudinit

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"os"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"kvshoot.io/sandbox/kubernetes/guest/machine"
)

// cloudConfig is the part of a #cloud-config that matters to a node.
type cloudConfig struct {
	Hostname string `json:"hostname"`
	Files    []file `json:"write_files"`
	Boot     []any  `json:"bootcmd"`
	Run      []any  `json:"runcmd"`
}

type file struct {
	Path        string `json:"path"`
	Content     string `json:"content"`
	Encoding    string `json:"encoding"`
	Permissions any    `json:"permissions"`
	Append      bool   `json:"append"`
}

// parse reads user data, and refuses what cloud-init would not accept as configuration.
func parse(data []byte) (*cloudConfig, error) {
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		plain, err := gunzip(data)
		if err != nil {
			return nil, err
		}
		data = plain
	}
	if bytes.HasPrefix(data, []byte("Content-Type: multipart/")) || bytes.HasPrefix(data, []byte("MIME-Version:")) {
		part, err := configPart(data)
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

func configPart(data []byte) ([]byte, error) {
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

func (f file) content() ([]byte, error) {
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

func (f file) mode() (os.FileMode, error) {
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

func (f file) write(m *machine.Machine) error {
	data, err := f.content()
	if err != nil {
		return err
	}
	mode, err := f.mode()
	if err != nil {
		return err
	}
	return m.WriteFile(f.Path, data, mode, f.Append)
}
