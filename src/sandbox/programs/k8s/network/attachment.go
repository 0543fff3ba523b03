package network

import (
	"context"
	"encoding/json"
	"net/netip"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

var definitions = schema.GroupVersionResource{Group: "k8s.cni.cncf.io", Version: "v1", Resource: "network-attachment-definitions"}

// Attachment is what an interface of a machine is connected to.
type Attachment struct {
	// Name is the namespace and name of a NetworkAttachmentDefinition; empty for the network of pods.
	Name string
	// Range has the addresses that its CNI plugin gives; invalid if it gives none, or no IPv4 addresses.
	Range netip.Prefix
	// First is the first of them.
	First netip.Addr
}

// Attachments returns the attachment of each interface of a VMI, by name. A default network without addresses of its own
// counts as the network of pods: nothing else would give the machine an address here.
func Attachments(ctx context.Context, client dynamic.Interface, vmi *unstructured.Unstructured) (map[string]Attachment, error) {
	found := map[string]Attachment{}
	networks, _, _ := unstructured.NestedSlice(vmi.Object, "spec", "networks")
	for _, one := range networks {
		fields, _ := one.(map[string]any)
		name, _, _ := unstructured.NestedString(fields, "name")
		reference, _, _ := unstructured.NestedString(fields, "multus", "networkName")
		if reference == "" {
			found[name] = Attachment{}
			continue
		}
		namespace, definition, ok := strings.Cut(reference, "/")
		if !ok {
			namespace, definition = vmi.GetNamespace(), reference
		}
		object, err := client.Resource(definitions).Namespace(namespace).Get(ctx, definition, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		config, _, _ := unstructured.NestedString(object.Object, "spec", "config")
		attachment := Attachment{Name: namespace + "/" + definition}
		attachment.Range, attachment.First = addresses(config)
		isDefault, _, _ := unstructured.NestedBool(fields, "multus", "default")
		if isDefault && !attachment.Range.IsValid() {
			attachment = Attachment{}
		}
		found[name] = attachment
	}
	return found, nil
}

type plugin struct {
	IPAM struct {
		// host-local has a subnet or ranges, whereabouts a range, which may begin with its first address: "FIRST-LAST/BITS".
		Subnet, Range string
		Ranges        [][]struct{ Subnet, RangeStart string }
		RangeStart    string
		First         string `json:"range_start"`
	}
}

// addresses returns the range of addresses that a CNI configuration gives, and the first of them.
func addresses(config string) (netip.Prefix, netip.Addr) {
	var one struct {
		plugin
		Plugins []plugin
	}
	if json.Unmarshal([]byte(config), &one) != nil {
		return netip.Prefix{}, netip.Addr{}
	}
	for _, it := range append(one.Plugins, one.plugin) {
		first, last, ok := strings.Cut(it.IPAM.Range, "-")
		if !ok {
			first, last = "", it.IPAM.Range
		}
		text, starts := last, []string{first, it.IPAM.First, it.IPAM.RangeStart}
		if text == "" {
			text = it.IPAM.Subnet
		}
		if ranges := it.IPAM.Ranges; text == "" && len(ranges) > 0 && len(ranges[0]) > 0 {
			text, starts = ranges[0][0].Subnet, []string{ranges[0][0].RangeStart}
		}
		prefix, err := netip.ParsePrefix(text)
		if err != nil || !prefix.Addr().Is4() || prefix.Bits() > 29 {
			continue
		}
		prefix = prefix.Masked()
		for _, start := range starts {
			if address, err := netip.ParseAddr(start); err == nil && prefix.Contains(address) {
				return prefix, address
			}
		}
		return prefix, prefix.Addr().Next()
	}
	return netip.Prefix{}, netip.Addr{}
}

// AttachmentIPs gives machines addresses in the ranges of attachments.
type AttachmentIPs struct {
	lock sync.Mutex
	// When addresses were given, by the name of the attachment and the address: no VMI may report them yet.
	given map[string]time.Time
}

// Next returns an address that no VMI reports; empty if there is none. The last one of the range is the gateway's.
func (a *AttachmentIPs) Next(attachment Attachment, vmis []unstructured.Unstructured) string {
	a.lock.Lock()
	defer a.lock.Unlock()
	if a.given == nil {
		a.given = map[string]time.Time{}
	}
	for key, since := range a.given {
		if time.Since(since) > time.Minute {
			delete(a.given, key)
		}
	}
	used := reported(vmis)
	for ip := attachment.First; attachment.Range.Contains(ip.Next().Next()); ip = ip.Next() {
		key := attachment.Name + " " + ip.String()
		if _, given := a.given[key]; !given && !used[ip.String()] {
			a.given[key] = time.Now()
			return ip.String()
		}
	}
	return ""
}

// reported returns the addresses that VMIs report.
func reported(vmis []unstructured.Unstructured) map[string]bool {
	used := map[string]bool{}
	for _, vmi := range vmis {
		interfaces, _, _ := unstructured.NestedSlice(vmi.Object, "status", "interfaces")
		for _, one := range interfaces {
			fields, _ := one.(map[string]any)
			ip, _, _ := unstructured.NestedString(fields, "ipAddress")
			used[ip] = true
		}
	}
	return used
}
