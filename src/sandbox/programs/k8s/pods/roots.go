package pods

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

// All containers of a pod have to reach its volumes, each from its own root and without
// mounts. So each container's root contains the root of the next one under the name inner,
// the innermost root contains the volumes, and a mountPath is a symbolic link inwards.
const (
	inner   = ".inner"
	volumes = ".volumes"
)

// root returns the root folder of the numbered container.
func (w *worker) root(number int) string {
	root := filepath.Join(w.dir, "root")
	for range number {
		root = filepath.Join(root, inner)
	}
	return root
}

// volumeDir returns the folder of a volume, as a path of the host.
func (w *worker) volumeDir(name string) string {
	return filepath.Join(w.root(len(w.containers)-1), volumes, name)
}

// prepareRoot creates a container's root: its program, the files that name resolution
// needs, and its mounts.
func (w *worker) prepareRoot(c *container, spec *v1.Container) (program string, err error) {
	root := w.root(c.number)
	for _, dir := range []string{"etc", "tmp", "usr/local/bin", "var/run"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return "", err
		}
	}
	for name, text := range map[string]string{"nsswitch.conf": "hosts: files\n", "resolv.conf": "", "hostname": w.name + "\n"} {
		if err := os.WriteFile(filepath.Join(root, "etc", name), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	if err := linkClock(root); err != nil {
		return "", err
	}
	mounts := append([]v1.VolumeMount{}, spec.VolumeMounts...)
	sort.Slice(mounts, func(i, j int) bool { return len(mounts[i].MountPath) < len(mounts[j].MountPath) })
	for _, mount := range mounts {
		if err := w.mount(root, mount); err != nil {
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
	binary := w.r.binary(path.Base(spec.Command[0]))
	if err := linkOrCopy(binary, filepath.Join(root, program)); err != nil {
		return "", err
	}
	return program, copyLibraries(root, binary)
}

// The file with the sandbox's clock, inside of a root.
const (
	clock         = "/etc/sandbox-clock"
	clockVariable = "KVSHOOT_SANDBOX_CLOCK"
)

// linkClock creates a hard link to the clock, so that the pod sees it move.
func linkClock(root string) error {
	file := os.Getenv(clockVariable)
	if file == "" {
		return nil
	}
	err := os.Link(file, filepath.Join(root, clock))
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	return err
}

// mount links a mountPath to its volume. The link is relative, so that it is valid inside
// the root and outside of it.
func (w *worker) mount(root string, mount v1.VolumeMount) error {
	link := filepath.Join(root, path.Clean("/"+mount.MountPath))
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		return err
	}
	// A parent folder may itself be a mount.
	dir, err := filepath.EvalSymlinks(filepath.Dir(link))
	if err != nil {
		return err
	}
	link = filepath.Join(dir, filepath.Base(link))
	target, err := filepath.Rel(dir, filepath.Join(w.volumeDir(mount.Name), path.Clean("/"+mount.SubPath)))
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

// linkOrCopy creates a hard link to a file, or a copy where that is not possible.
func linkOrCopy(source, target string) error {
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
	temporary := target + ".new"
	to, err := os.OpenFile(temporary, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err := errors.Join(err, to.Close()); err != nil {
		return err
	}
	return os.Rename(temporary, target)
}

// writeHosts writes the names that the provider's DNS would resolve into every root of the pod.
func (w *worker) writeHosts(pod *v1.Pod) error {
	text := w.r.hosts(pod)
	if text == w.hostsText {
		return nil
	}
	for number := range w.containers {
		file := filepath.Join(w.root(number), "etc", "hosts")
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
	w.hostsText = text
	return nil
}

// hosts returns /etc/hosts: the Services in the pod's namespace, and the pods of headless
// Services.
func (r *Runner) hosts(pod *v1.Pod) string {
	lines := []string{}
	add := func(address, name string) {
		lines = append(lines, fmt.Sprintf("%s %s %s.svc %s.svc.cluster.local", address, name, name, name))
	}
	if object, found, _ := r.services.GetByKey("default/kubernetes"); found {
		add(object.(*v1.Service).Spec.ClusterIP, "kubernetes.default")
	}
	for _, object := range r.services.List() {
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
		for _, backend := range r.Backends(service, true) {
			lines = append(lines, backend.Address+" "+service.Name)
			add(backend.Address, name)
			if backend.Pod.Spec.Subdomain == service.Name && backend.Pod.Spec.Hostname != "" {
				add(backend.Address, backend.Pod.Spec.Hostname+"."+name)
				// etcd checks that a name in a peer's certificate resolves to the peer's source
				// address, which on loopback is always 127.0.0.1.
				add("127.0.0.1", backend.Pod.Spec.Hostname+"."+name)
			}
		}
	}
	sort.Strings(lines)
	// The order matters: a name's own address comes before the shared one.
	sort.SliceStable(lines, func(i, j int) bool {
		return !strings.HasPrefix(lines[i], "127.0.0.1 ") && strings.HasPrefix(lines[j], "127.0.0.1 ")
	})
	own := fmt.Sprintf("127.0.0.1 localhost\n::1 localhost\n%s %s\n", r.addressOf(pod.UID), pod.Name)
	return own + strings.Join(lines, "\n") + "\n"
}
