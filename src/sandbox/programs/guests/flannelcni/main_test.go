package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/containernetworking/cni/pkg/skel"
)

const written = "FLANNEL_NETWORK=100.96.0.0/11\nFLANNEL_SUBNET=100.96.1.1/24\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=true\n"

func TestTheBridgeGetsTheRangeOfTheNode(t *testing.T) {
	node, err := parseSubnet([]byte(written))
	if err != nil {
		t.Fatal(err)
	}
	given := configuration{Delegate: map[string]any{"hairpinMode": true, "isDefaultGateway": true}}
	given.Name, given.CNIVersion = "cbr0", "0.3.1"
	found, err := json.Marshal(given.bridge(node))
	if err != nil {
		t.Fatal(err)
	}
	expected := `{"cniVersion":"0.3.1","hairpinMode":true,"ipMasq":false,"ipam":{"ranges":[[{"subnet":"100.96.1.0/24"}]],"routes":[{"dst":"100.96.0.0/11"}],"type":"host-local"},"isDefaultGateway":true,"isGateway":true,"mtu":1450,"name":"cbr0","type":"bridge"}`
	if string(found) != expected {
		t.Errorf("found %s", found)
	}
}

func TestAFileOfFlannelThatIsNotCompleteIsRefused(t *testing.T) {
	for _, text := range []string{"", "FLANNEL_MTU=1450\n", "FLANNEL_NETWORK=a\nFLANNEL_SUBNET=10.0.0.0/8\nFLANNEL_MTU=\n"} {
		if _, err := parseSubnet([]byte(text)); err == nil {
			t.Errorf("no error for %q", text)
		}
	}
}

func TestAPodWhoseFileIsEmptyOrMissingIsRemoved(t *testing.T) {
	folder := t.TempDir()
	arguments := &skel.CmdArgs{ContainerID: "pod", StdinData: []byte(`{"name":"cbr0","type":"flannel","dataDir":"` + folder + `"}`)}
	if err := remove(arguments); err != nil {
		t.Error(err)
	}
	path := filepath.Join(folder, "pod")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := remove(arguments); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the file is still there")
	}
}
