package qemu

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kvshoot.io/sandbox/kubernetes/guest/machine"
	"kvshoot.io/sandbox/kubernetes/network"
)

// Sockets of a machine.
const (
	agent   = "agent"
	console = "console"
	monitor = "monitor"
)

const (
	smallestMemory = 1 << 30
	smallestDisk   = 8 << 30
)

// VM is a virtual machine. Its folder outlives it.
type VM struct {
	host    *Host
	folder  string
	uuid    string
	machine *machine.Machine
	// ended is closed when qemu has exited.
	ended chan struct{}

	lock sync.Mutex
	// Names of the volumes that were attached while the machine ran.
	attached map[string]bool
}

// New returns a virtual machine that is switched off.
func New(host *Host, m *machine.Machine, folder string) *VM {
	uuid, _, _ := unstructured.NestedString(m.VMI.Object, "spec", "domain", "firmware", "uuid")
	if uuid == "" {
		uuid = string(m.VMI.GetUID())
	}
	return &VM{host: host, folder: folder, uuid: uuid, machine: m, ended: make(chan struct{}), attached: map[string]bool{}}
}

func (v *VM) path(name string) string { return filepath.Join(v.folder, name) }

// socket returns the path of a socket of the machine. Paths of sockets are limited to 107 bytes, so it is relative to the
// working directory, which qemu shares, and has a short name.
func (v *VM) socket(name string) string {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(v.folder))
	return filepath.Join(v.host.Sockets, fmt.Sprintf("%x-%s.sock", hash.Sum64(), name))
}

// quote makes a text a value of an option of qemu, which commas would end.
func quote(text string) string { return strings.ReplaceAll(text, ",", ",,") }

// Run boots the machine and returns when qemu has exited. It reports true if the machine crashed or did not start.
func (v *VM) Run(disk resource.Quantity, attachments map[string]network.Attachment) (crashed bool, err error) {
	defer close(v.ended)
	command, err := v.prepare(disk, attachments)
	if err != nil {
		return true, err
	}
	// qemu gets the signal when this thread ends, so the thread must last as long as this process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	log, err := os.OpenFile(v.path("qemu.log"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return true, err
	}
	defer log.Close()
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		return true, err
	}
	err = command.Wait()
	if err != nil {
		text, _ := os.ReadFile(log.Name())
		err = fmt.Errorf("qemu: %w: %s", err, text)
	}
	return err != nil, err
}

// prepare makes the disks, and returns the command that boots the machine.
func (v *VM) prepare(disk resource.Quantity, attachments map[string]network.Attachment) (*exec.Cmd, error) {
	if err := os.MkdirAll(v.folder, 0o700); err != nil {
		return nil, err
	}
	var err error
	if exists(v.path(overlay)) {
		err = v.growDisk(v.path(overlay), disk)
	} else {
		err = v.makeRoot(disk)
	}
	if err != nil {
		return nil, err
	}
	disks, err := v.disks()
	if err != nil {
		return nil, err
	}
	cards, err := v.networkCards(attachments)
	if err != nil {
		return nil, err
	}
	arguments := append(v.hardware(), disks...)
	return exec.Command(filepath.Join(v.host.Installation, program), append(arguments, cards...)...), nil
}

// makeRoot makes the disk that the machine boots from. The link is for its kernel, which has to be that of the disk's
// modules, also when the sandbox is started with another installation.
func (v *VM) makeRoot(disk resource.Quantity) error {
	installation, err := filepath.Abs(v.host.Installation)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(v.path(installationLink)); err != nil {
		return err
	}
	if err := os.Symlink(installation, v.path(installationLink)); err != nil {
		return err
	}
	golden := filepath.Join(installation, goldenDisk)
	size := strconv.FormatInt(max(disk.Value(), smallestDisk), 10)
	return v.run(imgProgram, "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", golden, v.path(overlay), size)
}

func (v *VM) hardware() []string {
	// Without the limit, translated code alone takes 1 GiB.
	accelerator, processor := "tcg,thread=multi,tb-size=384", "Westmere"
	if v.host.KVM {
		accelerator, processor = "kvm", "host"
	}
	installed := func(name string) string { return filepath.Join(v.path(installationLink), name) }
	socket := func(name, more string) string {
		return fmt.Sprintf("socket,id=%s,path=%s,server=on,wait=off%s", name, v.socket(name), more)
	}
	return []string{
		"-name", v.machine.Name(), "-uuid", v.uuid,
		"-machine", "q35,usb=off,vmport=off", "-accel", accelerator, "-cpu", processor,
		"-smp", strconv.Itoa(v.processors()), "-m", fmt.Sprintf("%dB", v.memory()),
		"-nodefaults", "-no-user-config", "-display", "none", "-rtc", "base=" + time.Now().UTC().Format("2006-01-02T15:04:05"),
		"-kernel", installed(kernel), "-initrd", installed(initrd),
		"-append", "root=/dev/vda rw console=ttyS0,115200 TERM=dumb panic=-1 mitigations=off init_on_alloc=0 no_timer_check tsc=reliable",
		"-no-reboot", "-device", "virtio-rng-pci", "-device", "virtio-serial-pci",
		"-chardev", socket(agent, ""), "-device", "virtserialport,chardev=agent,name=org.qemu.guest_agent.0",
		"-chardev", socket(console, ",logfile="+quote(v.machine.Console.Name())+",logappend=on"), "-serial", "chardev:console",
		"-qmp", fmt.Sprintf("unix:%s,server=on,wait=off", v.socket(monitor)),
	}
}

// networkCards connects the interfaces that the VMI reports, with their addresses.
func (v *VM) networkCards(attachments map[string]network.Attachment) ([]string, error) {
	interfaces, _, _ := unstructured.NestedSlice(v.machine.VMI.Object, "status", "interfaces")
	arguments := []string{}
	for i, one := range interfaces {
		fields, _ := one.(map[string]any)
		mac, _ := fields["mac"].(string)
		ip, _ := fields["ipAddress"].(string)
		name, _ := fields["name"].(string)
		attachment := attachments[name]
		given := lease{Network: attachment.Name, MAC: mac, IP: ip}
		if attachment.Range.IsValid() {
			given.Subnet = attachment.Range.String()
		}
		socket, err := v.host.attach(v.machine.Context, given)
		if err != nil {
			return nil, err
		}
		arguments = append(arguments,
			"-device", fmt.Sprintf("pcie-root-port,id=port%d,bus=pcie.0,chassis=%d,addr=%#x", i, i+1, 0x10+i),
			"-netdev", fmt.Sprintf("stream,id=%s,server=off,addr.type=unix,addr.path=%s", card(i), socket),
			"-device", fmt.Sprintf("virtio-net-pci,id=nic-%s,netdev=%s,mac=%s,bus=port%d,romfile=", card(i), card(i), mac, i))
	}
	if len(arguments) == 0 {
		return nil, errors.New("the machine has no network interface")
	}
	return arguments, nil
}

func card(i int) string { return fmt.Sprintf("card%d", i) }

func (v *VM) memory() int64 {
	for _, path := range [][]string{{"memory", "guest"}, {"resources", "requests", "memory"}} {
		text, _, _ := unstructured.NestedString(v.machine.VMI.Object, append([]string{"spec", "domain"}, path...)...)
		if quantity, err := resource.ParseQuantity(text); err == nil {
			return max(quantity.Value(), smallestMemory)
		}
	}
	return smallestMemory
}

// processors returns no more than this computer has, since more would only wait for each other.
func (v *VM) processors() int {
	count := int64(1)
	for _, field := range []string{"cores", "sockets", "threads"} {
		value, found, _ := unstructured.NestedInt64(v.machine.VMI.Object, "spec", "domain", "cpu", field)
		if found {
			count *= max(value, 1)
		}
	}
	return int(min(count, int64(runtime.NumCPU())))
}

// SetLinks connects or disconnects all network cards.
func (v *VM) SetLinks(up bool) {
	interfaces, _, _ := unstructured.NestedSlice(v.machine.VMI.Object, "status", "interfaces")
	for i := range interfaces {
		_, _ = runMonitor(v.socket(monitor), "set_link", map[string]any{"name": "nic-" + card(i), "up": up})
	}
}

// OSInfo asks the guest agent. It fails until the agent runs.
func (v *VM) OSInfo() (*OSInfo, error) { return agentOSInfo(v.socket(agent)) }

// Stop presses the power button, and switches the machine off if it still runs after the grace period.
func (v *VM) Stop(grace time.Duration) {
	_, _ = runMonitor(v.socket(monitor), "system_powerdown", nil)
	select {
	case <-v.ended:
		return
	case <-time.After(grace):
	}
	_, _ = runMonitor(v.socket(monitor), "quit", nil)
	<-v.ended
}
