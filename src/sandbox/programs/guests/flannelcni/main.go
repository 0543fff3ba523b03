// Command flannel-cni-plugin connects pods to the network of flannel: it completes the configuration of the bridge plugin
// with what flannel wrote about this node. It stands in for the plugin of the same name, whose module cannot be fetched
// from the Go module proxy.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/version"
)

const (
	defaultSubnetFile = "/run/flannel/subnet.env"
	defaultDataDir    = "/var/lib/cni/flannel"
)

// configuration is what stands in the CNI configuration about this plugin.
type configuration struct {
	types.NetConf
	SubnetFile    string         `json:"subnetFile"`
	DataDir       string         `json:"dataDir"`
	Delegate      map[string]any `json:"delegate"`
	RuntimeConfig map[string]any `json:"runtimeConfig,omitempty"`
}

// subnet is what flannel wrote about this node.
type subnet struct {
	network, own string
	mtu          int
	masquerades  bool
}

func main() {
	skel.PluginMainFuncs(skel.CNIFuncs{Add: add, Del: remove, Check: check}, version.All, "flannel-cni-plugin of kvshoot")
}

func parse(arguments *skel.CmdArgs) (*configuration, error) {
	given := &configuration{SubnetFile: defaultSubnetFile, DataDir: defaultDataDir}
	if err := json.Unmarshal(arguments.StdinData, given); err != nil {
		return nil, fmt.Errorf("failed to parse netconf: %w", err)
	}
	return given, nil
}

func add(arguments *skel.CmdArgs) error {
	given, err := parse(arguments)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(given.SubnetFile)
	if err != nil {
		return err
	}
	node, err := parseSubnet(text)
	if err != nil {
		return fmt.Errorf("%s: %w", given.SubnetFile, err)
	}
	delegate := given.bridge(node)
	netconf, err := json.Marshal(delegate)
	if err != nil {
		return err
	}
	// Needed to remove the pod when flannel may no longer run.
	if err := save(given.saved(arguments), netconf); err != nil {
		return err
	}
	result, err := invoke.DelegateAdd(context.Background(), fmt.Sprint(delegate["type"]), netconf, nil)
	if err != nil {
		return err
	}
	return result.Print()
}

// remove succeeds for a pod that it does not know, as the specification of CNI demands.
func remove(arguments *skel.CmdArgs) error {
	given, err := parse(arguments)
	if err != nil {
		return err
	}
	path := given.saved(arguments)
	netconf, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var delegate types.NetConf
	// A machine that was switched off may have lost the content of the file, and with it the pod.
	if json.Unmarshal(netconf, &delegate) == nil {
		if err := invoke.DelegateDel(context.Background(), delegate.Type, netconf, nil); err != nil {
			return err
		}
	}
	return os.Remove(path)
}

func check(arguments *skel.CmdArgs) error {
	given, err := parse(arguments)
	if err != nil {
		return err
	}
	netconf, err := os.ReadFile(given.saved(arguments))
	if err != nil {
		return err
	}
	var delegate types.NetConf
	if err := json.Unmarshal(netconf, &delegate); err != nil {
		return err
	}
	return invoke.DelegateCheck(context.Background(), delegate.Type, netconf, nil)
}

// saved returns the file with the configuration that a pod was added with.
func (c *configuration) saved(arguments *skel.CmdArgs) string {
	return filepath.Join(c.DataDir, filepath.Base(arguments.ContainerID))
}

// save replaces the file at once: a machine that is switched off meanwhile has the whole content or none.
func save(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return os.Rename(file.Name(), path)
}

// bridge returns the configuration of the plugin that does the work: bridge, unless another one is given.
func (c *configuration) bridge(node subnet) map[string]any {
	delegate := map[string]any{
		"type": "bridge", "mtu": node.mtu, "isGateway": true,
		// One of both masquerades.
		"ipMasq": !node.masquerades,
	}
	for key, value := range c.Delegate {
		delegate[key] = value
	}
	delegate["name"], delegate["cniVersion"] = c.Name, c.CNIVersion
	if len(c.RuntimeConfig) > 0 {
		delegate["runtimeConfig"] = c.RuntimeConfig
	}
	delegate["ipam"] = map[string]any{
		"type":   "host-local",
		"ranges": []any{[]any{map[string]any{"subnet": node.own}}},
		"routes": []any{map[string]any{"dst": node.network}},
	}
	return delegate
}

func parseSubnet(text []byte) (subnet, error) {
	values := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), "=")
		values[key] = value
	}
	node := subnet{network: values["FLANNEL_NETWORK"], masquerades: values["FLANNEL_IPMASQ"] == "true"}
	// flannel writes the address of the node in its range.
	_, own, wrong := net.ParseCIDR(values["FLANNEL_SUBNET"])
	mtu, err := strconv.Atoi(values["FLANNEL_MTU"])
	if err != nil || wrong != nil || node.network == "" {
		return subnet{}, errors.New("FLANNEL_NETWORK, FLANNEL_SUBNET or FLANNEL_MTU is missing or invalid")
	}
	node.own, node.mtu = own.String(), mtu
	return node, nil
}
