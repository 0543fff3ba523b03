package network

import "testing"

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
