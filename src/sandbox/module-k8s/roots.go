package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// A pod's volumes have to be seen by all its containers, each in a root of its
// own and without a mount. So each container's root holds the next one's under
// this name, the innermost holds the volumes, and a mountPath is a link inwards.
const (
	inner   = ".inner"
	volumes = ".volumes"
)

// root is the root folder of the pod's container of this number.
func (p *podRun) root(number int) string {
	root := filepath.Join(p.dir, "root")
	for range number {
		root = filepath.Join(root, inner)
	}
	return root
}

// volumeDir is where a volume is, as seen from this computer.
func (p *podRun) volumeDir(name string) string {
	return filepath.Join(p.root(len(p.containers)-1), volumes, name)
}

// furnish makes a container's root: its program, the files that look-ups of
// names need, and its mounts.
func (p *podRun) furnish(c *container, spec *v1.Container) (program string, err error) {
	root := p.root(c.number)
	for _, dir := range []string{"etc", "tmp", "usr/local/bin", "var/run"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return "", err
		}
	}
	for name, text := range map[string]string{"nsswitch.conf": "hosts: files\n", "resolv.conf": "", "hostname": p.name + "\n"} {
		if err := os.WriteFile(filepath.Join(root, "etc", name), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	mounts := append([]v1.VolumeMount{}, spec.VolumeMounts...)
	sort.Slice(mounts, func(i, j int) bool { return len(mounts[i].MountPath) < len(mounts[j].MountPath) })
	for _, mount := range mounts {
		if err := p.mount(root, mount); err != nil {
			return "", err
		}
	}
	program = spec.Command[0]
	if !path.IsAbs(program) {
		program = "/usr/local/bin/" + path.Base(program)
	}
	if err := os.MkdirAll(filepath.Join(root, path.Dir(program)), 0o755); err != nil {
		return "", err
	}
	binary := p.r.binary(path.Base(spec.Command[0]))
	if err := place(binary, filepath.Join(root, program)); err != nil {
		return "", err
	}
	return program, furnishLibraries(root, binary)
}

// mount links a mountPath to its volume: relatively, so that the link says the
// same inside the root and outside of it.
func (p *podRun) mount(root string, mount v1.VolumeMount) error {
	link := filepath.Join(root, path.Clean("/"+mount.MountPath))
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		return err
	}
	// Another volume may be mounted further up.
	dir, err := filepath.EvalSymlinks(filepath.Dir(link))
	if err != nil {
		return err
	}
	link = filepath.Join(dir, filepath.Base(link))
	target, err := filepath.Rel(dir, filepath.Join(p.volumeDir(mount.Name), path.Clean("/"+mount.SubPath)))
	if err != nil {
		return err
	}
	if old, err := os.Readlink(link); err == nil && old == target {
		return nil
	}
	if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("cannot mount %s on %s: %w", mount.Name, mount.MountPath, err)
	}
	return os.Symlink(target, link)
}

// place makes a file stand at another path too: without a copy, if possible.
func place(source, target string) error {
	if _, err := os.Lstat(target); err == nil {
		return nil
	}
	if os.Link(source, target) == nil {
		return nil
	}
	from, err := os.Open(source)
	if err != nil {
		return err
	}
	defer from.Close()
	passing := target + ".new"
	to, err := os.OpenFile(passing, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err := errors.Join(err, to.Close()); err != nil {
		return err
	}
	return os.Rename(passing, target)
}

// names writes what the provider's DNS would know, into every root of the pod.
func (p *podRun) names(pod *v1.Pod) error {
	text := p.r.hosts(pod)
	if text == p.hostsText {
		return nil
	}
	for number := range p.containers {
		file := filepath.Join(p.root(number), "etc", "hosts")
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file+".new", []byte(text), 0o644); err != nil {
			return err
		}
		if err := os.Rename(file+".new", file); err != nil {
			return err
		}
	}
	p.hostsText = text
	return nil
}

// hosts are the names of the Services in the pod's namespace, and of the pods
// that a headless one stands for.
func (r *runner) hosts(pod *v1.Pod) string {
	lines := []string{}
	add := func(address, name string) {
		lines = append(lines, fmt.Sprintf("%s %s %s.svc %s.svc.cluster.local", address, name, name, name))
	}
	if object, found, _ := r.s.services.GetByKey("default/kubernetes"); found {
		add(object.(*v1.Service).Spec.ClusterIP, "kubernetes.default")
	}
	for _, object := range r.s.services.List() {
		service := object.(*v1.Service)
		if service.Namespace != pod.Namespace || service.Spec.ClusterIP == "" {
			continue
		}
		name := service.Name + "." + service.Namespace
		if service.Spec.ClusterIP != v1.ClusterIPNone {
			lines = append(lines, service.Spec.ClusterIP+" "+service.Name)
			add(service.Spec.ClusterIP, name)
			continue
		}
		for _, one := range r.behind(service, true) {
			lines = append(lines, one.address+" "+service.Name)
			add(one.address, name)
			if one.pod.Spec.Subdomain == service.Name && one.pod.Spec.Hostname != "" {
				add(one.address, one.pod.Spec.Hostname+"."+name)
				// etcd looks up the names of a peer's certificate, to find the address
				// that it comes from, and on loopback all come from this one.
				add("127.0.0.1", one.pod.Spec.Hostname+"."+name)
			}
		}
	}
	sort.Strings(lines)
	// The order of these counts: a name's own address goes before the common one.
	sort.SliceStable(lines, func(i, j int) bool {
		return !strings.HasPrefix(lines[i], "127.0.0.1 ") && strings.HasPrefix(lines[j], "127.0.0.1 ")
	})
	own := fmt.Sprintf("127.0.0.1 localhost\n::1 localhost\n%s %s\n", r.addressOf(pod.UID), pod.Name)
	return own + strings.Join(lines, "\n") + "\n"
}
