# Makes the disk of a machine from a Debian system, whose root folder is $1. mmdebstrap runs it with sh, as root or as root
# of a user namespace. The folder /sandbox of the system has kubelet, the programs of pods, and names.json with the names of
# their images. Leaves in it the kernel, its initial RAM disk and the disk.
set -eu
system=$1
sandbox=$system/sandbox

# put PATH: writes standard input to a file of the system.
put() {
	mkdir -p "$(dirname "$system$1")"
	cat > "$system$1"
}

# Each machine gets a name, an ID and keys of its own when it boots.
rm -f "$system/etc/hostname" "$system/var/lib/dbus/machine-id" "$system"/etc/ssh/ssh_host_*
: | put /etc/machine-id
echo 'LABEL=root / ext4 rw,noatime 0 1' | put /etc/fstab
ln -sf ../run/systemd/resolve/stub-resolv.conf "$system/etc/resolv.conf"
put /etc/cloud/cloud.cfg.d/90-sandbox.cfg <<'CONFIGURATION'
datasource_list: [NoCloud, None]
apt:
  preserve_sources_list: true
ssh_genkeytypes: [ed25519]
CONFIGURATION
chroot "$system" systemctl --quiet disable apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer fstrim.timer dpkg-db-backup.timer
chroot "$system" systemctl --quiet enable systemd-networkd systemd-resolved containerd

install -m 0755 "$sandbox/kubelet" "$system/usr/bin/kubelet"
mkdir -p "$system/opt/cni/bin"
for plugin in "$system"/usr/lib/cni/*; do
	ln -sfn "/usr/lib/cni/${plugin##*/}" "$system/opt/cni/bin/${plugin##*/}"
done

# The images are unpacked here, into the store of the machine's containerd: an emulated processor would take long.
"$sandbox/guest-images" --programs "$sandbox" --system "$system" --names "$sandbox/names.json" --output "$sandbox/images.tar"
put /sandbox/containerd.toml <<'CONFIGURATION'
version = 2
disabled_plugins = ["io.containerd.grpc.v1.cri"]
CONFIGURATION
chroot "$system" containerd --config /sandbox/containerd.toml --log-level error > "$sandbox/containerd.log" 2>&1 &
containerd=$!
trap 'kill $containerd 2>/dev/null || true' EXIT
remaining=60
until chroot "$system" ctr version > /dev/null 2>&1; do
	remaining=$((remaining - 1))
	[ $remaining -gt 0 ] || { echo 'containerd does not start:' >&2; cat "$sandbox/containerd.log" >&2; exit 1; }
	sleep 1
done
chroot "$system" ctr --namespace k8s.io images import --snapshotter overlayfs /sandbox/images.tar > /dev/null
kill $containerd
wait $containerd || true
trap - EXIT
rm -rf "$system"/run/containerd "$system"/var/lib/apt/lists/* "$system"/var/cache/apt/*.bin

rm -rf "${sandbox:?}"/*
cp "$system"/boot/vmlinuz-* "$sandbox/vmlinuz"
cp "$system"/boot/initrd.img-* "$sandbox/initrd.img"
# Without /proc and the other file systems that mmdebstrap mounts, and without the disk itself. Machines use an overlay of
# the size that they ask for, and cloud-init grows the file system.
truncate -s 4G "$sandbox/root.raw"
mkdir "$sandbox/tree"
mount --bind "$system" "$sandbox/tree"
mount -t tmpfs none "$sandbox/tree/sandbox"
trap 'umount "$sandbox/tree/sandbox" "$sandbox/tree"' EXIT
mkfs.ext4 -q -L root -E lazy_itable_init=1,lazy_journal_init=1 -d "$sandbox/tree" "$sandbox/root.raw"
umount "$sandbox/tree/sandbox" "$sandbox/tree"
trap - EXIT
qemu-img convert -O qcow2 "$sandbox/root.raw" "$sandbox/root.qcow2"
rm "$sandbox/root.raw"
