package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// Images of Kubernetes' tests.
	registry = "registry.k8s.io/e2e-test-images/"
	agnhost  = registry + "agnhost:2.63.0"
	// previousAgnhost is for tests that change images. Its program is the same.
	previousAgnhost = registry + "agnhost:2.55"
	// pages is the folder of nginx.
	pages = "usr/share/nginx/html"
)

// layers are the layers that images share.
type layers struct {
	base, netfilter, busybox, filesystems, clients, pages descriptor
}

// content is what the image of a component has besides shared layers, and how it is started.
type content struct {
	component string
	// program is the file among the programs, if it is not called like the component.
	program string
	// path is where the program is in the image.
	path string
	// link is another name of it.
	link         string
	start        image
	capabilities []uint
	below        []descriptor
}

// addImages adds all images. names has the name of the image of each component.
func addImages(a *archive, from sources, names map[string]string) error {
	shared, err := addLayers(a, from)
	if err != nil {
		return err
	}
	names["agnhost"], names["agnhost-previous"] = agnhost, previousAgnhost
	run := func(path string) image { return image{Entrypoint: []string{"/" + path}} }
	user := func(id, path string) image { return image{Entrypoint: []string{"/" + path}, User: id + ":" + id} }
	tested := image{Entrypoint: []string{"/agnhost"}, Cmd: []string{"pause"}}
	network := []descriptor{shared.base, shared.netfilter}
	base := []descriptor{shared.base}
	for _, one := range []content{
		{component: "pause", path: "pause", start: user("65535", "pause")},
		{component: "kube-proxy", path: "usr/local/bin/kube-proxy", start: image{Cmd: []string{"/usr/local/bin/kube-proxy"}}, below: network},
		{component: "flannel", path: "opt/bin/flanneld", start: run("opt/bin/flanneld"), below: network},
		{component: "flannel-cni-plugin", path: "flannel", below: []descriptor{shared.busybox}},
		{component: "coredns", path: "coredns", start: user("65532", "coredns"), capabilities: []uint{netBindService}, below: base},
		{component: "konnectivity-agent", path: "proxy-agent", start: user("65532", "proxy-agent"), below: base},
		{component: "metrics-server", path: "metrics-server", start: user("65534", "metrics-server"), below: base},
		{
			component: "kubevirt-csi-driver", program: "csi-node", path: "usr/bin/kubevirt-csi-driver",
			start: run("usr/bin/kubevirt-csi-driver"), below: []descriptor{shared.base, shared.filesystems},
		},
		{component: "csi-node-driver-registrar", program: "csi-node", path: "csi-node-driver-registrar", start: run("csi-node-driver-registrar"), below: base},
		{component: "livenessprobe", program: "csi-node", path: "livenessprobe", start: run("livenessprobe"), below: base},
		{component: "agnhost", path: "agnhost", link: "agnhost-2", start: tested, below: []descriptor{shared.base, shared.clients}},
		{component: "agnhost-previous", program: "agnhost", path: "agnhost", link: "agnhost-2", start: tested, below: []descriptor{shared.base, shared.clients}},
	} {
		if err := addComponent(a, from, one, names); err != nil {
			return fmt.Errorf("image of %s: %w", one.component, err)
		}
	}
	return addTestImages(a, shared)
}

// addTestImages adds further images of Kubernetes' tests. The web server is that of busybox.
func addTestImages(a *archive, shared layers) error {
	shell := image{Cmd: []string{"sh"}}
	server := image{Cmd: []string{"httpd", "-f", "-p", "80", "-h", "/" + pages}}
	for _, one := range []struct {
		name  string
		start image
		layer []descriptor
	}{
		{registry + "busybox:1.37.0-1", shell, []descriptor{shared.base, shared.busybox}},
		{registry + "glibc-dns-testing:2.0.0", shell, []descriptor{shared.base, shared.clients}},
		{registry + "nginx:1.15-4", server, []descriptor{shared.base, shared.busybox, shared.pages}},
		{registry + "nginx:1.27-0", server, []descriptor{shared.base, shared.busybox, shared.pages}},
	} {
		if err := a.addImage(one.name, one.start, one.layer); err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
	}
	return nil
}

func addComponent(a *archive, from sources, one content, names map[string]string) error {
	name := names[one.component]
	if name == "" {
		return errors.New("it has no name")
	}
	program := one.program
	if program == "" {
		program = one.component
	}
	own, err := a.newLayer(func(l *layer) {
		l.file(one.path, filepath.Join(from.programs, program), 0o755, one.capabilities...)
		if one.link != "" {
			l.link(one.link, one.path)
		}
	})
	if err != nil {
		return err
	}
	return a.addImage(name, one.start, append(slices.Clone(one.below), own))
}

func addLayers(a *archive, from sources) (layers, error) {
	var made layers
	for _, one := range []struct {
		layer *descriptor
		fill  func(*layer, sources)
	}{
		{&made.base, fillBase}, {&made.netfilter, fillNetfilter}, {&made.busybox, fillBusybox}, {&made.filesystems, fillFilesystems},
		{&made.clients, fillClients}, {&made.pages, fillPages},
	} {
		var err error
		if *one.layer, err = a.newLayer(func(l *layer) { one.fill(l, from) }); err != nil {
			return made, err
		}
	}
	return made, nil
}

// fillBase adds what programs look for in every system.
func fillBase(l *layer, from sources) {
	l.text("etc/passwd", "root:x:0:0:root:/root:/sbin/nologin\nnobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n")
	l.text("etc/group", "root:x:0:\ntty:x:5:\nstaff:x:50:\nnobody:x:65534:\nnonroot:x:65532:\n")
	l.text("etc/nsswitch.conf", "hosts: files dns\n")
	l.file("etc/ssl/certs/ca-certificates.crt", filepath.Join(from.system, "etc/ssl/certs/ca-certificates.crt"), 0o644)
	for _, folder := range []string{"run", "var/run", "proc", "sys", "dev"} {
		l.folder(folder, 0o755)
	}
	l.folder("root", 0o700)
	l.folder("tmp", 0o1777)
}

// fillNetfilter adds iptables, both kinds, nft and conntrack of Debian, and what shell commands of manifests use.
func fillNetfilter(l *layer, from sources) {
	linkMerged(l)
	for _, program := range []string{
		"usr/sbin/xtables-nft-multi", "usr/sbin/xtables-legacy-multi", "usr/sbin/nft", "usr/sbin/conntrack", "usr/bin/kmod",
	} {
		l.program(from, program)
	}
	// iptables loads them when a rule uses them.
	modules, err := os.ReadDir(filepath.Join(from.system, libraryFolder, "xtables"))
	if err != nil {
		l.err = err
		return
	}
	for _, module := range modules {
		l.program(from, filepath.Join(libraryFolder, "xtables", module.Name()))
	}
	for _, family := range []string{"iptables", "ip6tables"} {
		for _, verb := range []string{"", "-save", "-restore"} {
			l.link("usr/sbin/"+family+verb, "xtables-nft-multi")
			l.link("usr/sbin/"+family+"-nft"+verb, "xtables-nft-multi")
			l.link("usr/sbin/"+family+"-legacy"+verb, "xtables-legacy-multi")
		}
	}
	for _, name := range []string{"modprobe", "lsmod"} {
		l.link("usr/sbin/"+name, "../bin/kmod")
	}
	l.file("usr/bin/busybox", filepath.Join(from.system, "usr/bin/busybox"), 0o755)
	for _, name := range []string{"cp", "sh", "cat", "ls", "mkdir", "ip", "sleep", "grep"} {
		l.link("usr/bin/"+name, "busybox")
	}
}

// linkMerged links the folders that older programs expect.
func linkMerged(l *layer) {
	for _, folder := range []string{"bin", "sbin", "lib", "lib64"} {
		l.link(folder, "usr/"+folder)
	}
}

// fillFilesystems adds what makes, checks, grows and mounts file systems.
func fillFilesystems(l *layer, from sources) {
	linkMerged(l)
	for _, program := range []string{
		"usr/bin/mount", "usr/bin/umount", "usr/sbin/blkid", "usr/sbin/blockdev", "usr/sbin/mke2fs", "usr/sbin/e2fsck",
		"usr/sbin/fsck", "usr/sbin/resize2fs", "usr/sbin/dumpe2fs",
	} {
		l.program(from, program)
	}
	l.link("usr/sbin/mkfs.ext4", "mke2fs")
	l.link("usr/sbin/fsck.ext4", "e2fsck")
	l.file("etc/mke2fs.conf", filepath.Join(from.system, "etc/mke2fs.conf"), 0o644)
}

// fillBusybox adds Debian's static busybox under all of its names.
func fillBusybox(l *layer, from sources) {
	addBusybox(l, from, "bin")
}

// fillClients adds the clients that Kubernetes' tests run in pods, and busybox under all other names. The shell is not
// that of busybox, which prefers its own commands to programs.
func fillClients(l *layer, from sources) {
	linkMerged(l)
	for _, program := range []string{"curl", "dash", "dig", "nc.openbsd"} {
		l.program(from, "usr/bin/"+program)
	}
	l.link("usr/bin/nc", "nc.openbsd")
	l.link("usr/bin/sh", "dash")
	addBusybox(l, from, "usr/bin")
}

// fillPages adds the page that nginx has from the start.
func fillPages(l *layer, from sources) {
	l.text(pages+"/index.html", "<h1>Welcome to nginx!</h1>\n")
}

func addBusybox(l *layer, from sources, folder string) {
	path := filepath.Join(from.system, "usr/bin/busybox")
	l.file(folder+"/busybox", path, 0o755)
	names, err := exec.Command(path, "--list").Output()
	if err != nil {
		l.err = fmt.Errorf("%s --list: %w", path, err)
		return
	}
	for name := range strings.FieldsSeq(string(names)) {
		l.link(folder+"/"+name, "busybox")
	}
}
