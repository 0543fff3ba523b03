package kubelet

import (
	"testing"

	"kvshoot.io/sandbox/kubernetes/guest/machinetest"
)

func TestAMachineHasTheAuthoritiesThatItTookLast(t *testing.T) {
	m := machinetest.New(t, map[string]string{joinSettings: "NODE='m'\nCERTIFICATE_AUTHORITIES='0/alone'\n"})
	n := &Node{machine: m}
	if has := n.authorities(); has != "0/alone" {
		t.Fatal(has)
	}
	if err := m.WriteFile(authoritiesFile, []byte("1/leading\n"), 0o644, false); err != nil {
		t.Fatal(err)
	}
	if has := n.authorities(); has != "1/leading" {
		t.Fatal(has)
	}
}

func TestAMachineKeepsItsAuthoritiesWhenTheClusterPublishesNone(t *testing.T) {
	m := machinetest.New(t, map[string]string{authoritiesPEM: "present"})
	n := &Node{machine: m}
	if err := n.takeAuthorities("1/alone", ""); err == nil {
		t.Fatal("it took no authorities")
	}
	if kept, err := m.ReadFile(authoritiesPEM); err != nil || string(kept) != "present" {
		t.Fatal(string(kept), err)
	}
	if has := n.authorities(); has != "" {
		t.Fatal(has)
	}
}

// A renewal asks with the certificate that its kubeconfig refers to; kubelet's own is that of its
// certificate manager, which may not exist yet.
func TestOnlyKubeletsOwnCertificateIsLeftToItsManager(t *testing.T) {
	const folder = "/var/lib/kubelet/pki"
	config := func(certificate string) string {
		return "apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}]\n" +
			"users: [{name: a, user: {client-certificate: " + certificate + ", client-key: " + certificate + "}}]\n" +
			"contexts: [{name: a, context: {cluster: a, user: a}}]\ncurrent-context: a\n"
	}
	m := machinetest.New(t, map[string]string{
		"/own": config(folder + "/kubelet-client-current.pem"), "/renewal": config(presentFile), presentFile: "PEM",
	})
	for path, wanted := range map[string]string{"/own": "", "/renewal": "PEM"} {
		read, err := readKubeconfig(m, path, folder)
		if err != nil {
			t.Fatal(err)
		}
		if string(read.CertData) != wanted || string(read.KeyData) != wanted {
			t.Errorf("%s: %+v", path, read.TLSClientConfig)
		}
	}
}
