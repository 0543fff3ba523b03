package cloudinit

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"os"
	"strings"
	"testing"

	"kvshoot.io/sandbox/kubernetes/guest/machinetest"
)

func TestUserDataIsParsedAsCloudInitDoes(t *testing.T) {
	plain := "#cloud-config\nhostname: a\nwrite_files:\n- {path: /a, content: b, permissions: '0600'}\n"
	zipped := &bytes.Buffer{}
	writer := gzip.NewWriter(zipped)
	_, _ = writer.Write([]byte(plain))
	_ = writer.Close()
	parts := "Content-Type: multipart/mixed; boundary=\"x\"\nMIME-Version: 1.0\n\n--x\nContent-Type: text/x-shellscript\n\n#!/bin/sh\n--x\n" +
		"Content-Type: text/cloud-config\nContent-Transfer-Encoding: base64\n\n" + base64.StdEncoding.EncodeToString([]byte(plain)) + "\n--x--\n"
	for name, data := range map[string]string{"plain": plain, "zipped": zipped.String(), "parts": parts} {
		config, err := parse([]byte(data))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if config.Hostname != "a" || len(config.Files) != 1 || config.Files[0].Path != "/a" {
			t.Errorf("%s: %+v", name, config)
		}
	}
}

func TestInvalidUserDataIsRefused(t *testing.T) {
	for data, wanted := range map[string]string{
		"hostname: a\n":                           "unhandled non-multipart",
		"#cloud-config\nwrite_files: {":           "failed loading yaml blob",
		"#cloud-config\nwrite_files: [{path: 1}]": "schema",
	} {
		if _, err := parse([]byte(data)); err == nil || !strings.Contains(err.Error(), wanted) {
			t.Errorf("%q: %v", data, err)
		}
	}
	if _, err := (file{Encoding: "rot13"}).content(); err == nil {
		t.Error("an unknown encoding is accepted")
	}
}

func TestFilesHaveTheirContentAndMode(t *testing.T) {
	m := machinetest.New(t, nil)
	for _, f := range []file{
		{Path: "/etc/a", Content: "YQ==", Encoding: "b64", Permissions: "0600"},
		{Path: "/etc/a", Content: "b", Append: true, Permissions: "0640"},
	} {
		if err := f.write(m); err != nil {
			t.Fatal(err)
		}
	}
	data, err := m.ReadFile("/etc/a")
	if err != nil || string(data) != "ab" {
		t.Errorf("%q, %v", data, err)
	}
	if info, _ := os.Stat(m.Path("/etc/a")); info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v", info.Mode())
	}
	if !strings.HasPrefix(m.Path("/../../etc/a"), m.Root) {
		t.Error("a path leads out of the machine")
	}
}

func TestProgramsAndUnitsOfCommandsHaveToExist(t *testing.T) {
	m := machinetest.New(t, map[string]string{
		"/etc/systemd/system/good.service": "[Service]\nExecStart=/bin/sh /usr/local/lib/good\n", "/usr/local/lib/good": "",
		"/etc/systemd/system/bad.service": "[Service]\nExecStart=/usr/local/lib/bad\n",
	})
	good := &cloudConfig{Run: []any{[]any{"systemctl", "enable", "--now", "good.service"}, "systemctl restart kubelet.service"}}
	if err := checkCommands(m, good); err != nil {
		t.Error(err)
	}
	for _, command := range []any{[]any{"systemctl", "start", "none.service"}, "systemctl start bad.service", "/usr/local/lib/none"} {
		if err := checkCommands(m, &cloudConfig{Run: []any{command}}); err == nil {
			t.Errorf("%v is accepted", command)
		}
	}
}
