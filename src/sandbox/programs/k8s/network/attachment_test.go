package network

import (
	"net/netip"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestTheRangeOfANetworkIsThatOfItsPlugin(t *testing.T) {
	for config, expected := range map[string][2]string{
		`{"type":"bridge","ipam":{"type":"whereabouts","range":"192.168.0.0/20"}}`:                                     {"192.168.0.0/20", "192.168.0.1"},
		`{"type":"bridge","ipam":{"type":"whereabouts","range":"192.168.2.17-192.168.2.90/24"}}`:                       {"192.168.2.0/24", "192.168.2.17"},
		`{"type":"bridge","ipam":{"type":"whereabouts","range":"192.168.2.0/24","range_start":"192.168.2.50"}}`:        {"192.168.2.0/24", "192.168.2.50"},
		`{"plugins":[{"type":"macvlan","ipam":{"type":"host-local","subnet":"10.1.0.0/16"}},{"type":"tuning"}]}`:       {"10.1.0.0/16", "10.1.0.1"},
		`{"type":"bridge","ipam":{"type":"host-local","ranges":[[{"subnet":"10.2.0.5/16","rangeStart":"10.2.9.9"}]]}}`: {"10.2.0.0/16", "10.2.9.9"},
		`{"type":"bridge","vlan":42}`:                                              {"invalid Prefix", "invalid IP"},
		`{"type":"bridge","ipam":{"type":"whereabouts","range":"fd00::/64"}}`:      {"invalid Prefix", "invalid IP"},
		`{"type":"bridge","ipam":{"type":"whereabouts","range":"192.168.2.0/30"}}`: {"invalid Prefix", "invalid IP"},
		`not JSON`: {"invalid Prefix", "invalid IP"},
	} {
		found, first := addresses(config)
		if found.String() != expected[0] || first.String() != expected[1] {
			t.Errorf("%s: %s from %s", config, found, first)
		}
	}
}

func TestMachinesGetDifferentAddressesAndNotThatOfTheGateway(t *testing.T) {
	vmi := unstructured.Unstructured{Object: map[string]any{"status": map[string]any{
		"interfaces": []any{map[string]any{"ipAddress": "10.3.0.2"}},
	}}}
	all := []unstructured.Unstructured{vmi}
	attachment := Attachment{Name: "n/a", Range: netip.MustParsePrefix("10.3.0.0/29"), First: netip.MustParseAddr("10.3.0.1")}
	var ips AttachmentIPs
	for _, expected := range []string{"10.3.0.1", "10.3.0.3", "10.3.0.4", "10.3.0.5", ""} {
		if found := ips.Next(attachment, all); found != expected {
			t.Errorf("%q instead of %q", found, expected)
		}
	}
	attachment.Name = "n/b"
	if found := ips.Next(attachment, nil); found != "10.3.0.1" {
		t.Errorf("%q in another network", found)
	}
	if found := ips.Next(Attachment{Name: "n/c"}, nil); found != "" {
		t.Errorf("%q without a range", found)
	}
}
