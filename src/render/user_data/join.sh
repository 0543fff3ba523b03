#!/bin/sh
# Makes this machine a node of its cluster. Runs at every boot and changes nothing that is as it should be.
#
# An image that has kubelet and containerd needs no network but the way to the API server. What is missing is
# fetched, with a digest that came with the machine; what differs in version is exchanged if that can be done soon.
set -eu

# Tests run it below another root.
ROOT=${ROOT:-}
LIB=$ROOT/usr/local/lib/kvshoot
STATE=$ROOT/var/lib/kvshoot
PKI=$ROOT/var/lib/kubelet/pki/kubelet-client-current.pem
# Seconds from one look, or one attempt, to the next.
PAUSE=${PAUSE:-5}
[ -n "$ROOT" ] || PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/bin

# KUBELET_VERSION, API_SERVER, NODE, NAMESPACE, SWAP, MIRRORED, and perhaps KUBELET_VOLUME
# shellcheck source=/dev/null
. "$ROOT/etc/kvshoot/join.conf"
# http_proxy, https_proxy, no_proxy, in both spellings
if [ -f "$ROOT/etc/kvshoot/proxy.conf" ]; then
    set -a
    # shellcheck source=/dev/null
    . "$ROOT/etc/kvshoot/proxy.conf"
    set +a
fi

log() { printf 'kvshoot-join: %s\n' "$*"; }

fail() {
    log "$*"
    exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

main() {
    mkdir -p "$STATE"
    prepare
    mount_kubelet_volume
    provide_packages
    provide_containerd
    configure_containerd
    provide_kubelet
    configure_kubelet
    start
    wait_for_certificate
    annotate
}

# The system: kernel modules, parameters, swap, firewall, clock.
prepare() {
    systemctl restart systemd-modules-load.service || log 'some kernel modules cannot be loaded'
    systemctl restart systemd-sysctl.service || log 'some kernel parameters cannot be set'
    if [ "$SWAP" = no ]; then
        systemctl mask swap.target >/dev/null 2>&1 || true
        if has swapoff; then swapoff -a || log 'swap cannot be switched off'; fi
        if [ -f "$ROOT/etc/fstab" ]; then
            sed -i 's/^[^#].*[[:space:]]swap[[:space:]].*/# & # kvshoot/' "$ROOT/etc/fstab"
        fi
    fi
    # Rules of its own would stand in the way of kube-proxy and of the pod network.
    systemctl mask --now ufw.service >/dev/null 2>&1 || true
    set_clock
}

# Certificates are refused by a clock that is wrong.
set_clock() {
    for unit in chrony chronyd systemd-timesyncd ntpsec; do
        if systemctl enable --now "$unit.service" >/dev/null 2>&1; then return; fi
    done
    log 'there is no time service; the clock stays as it is'
}

# The disk for the data of kubelet, known by its serial number. It is formatted only if there is nothing on it, and the
# files that came with the machine are copied to it. Later boots mount it before kubelet starts, and grow its filesystem with
# the disk.
mount_kubelet_volume() {
    if [ -z "${KUBELET_VOLUME:-}" ]; then return; fi
    data=$ROOT/var/lib/kubelet
    if mountpoint -q "$data"; then return; fi
    device=$(lsblk -dnro PATH,SERIAL | while read -r path serial; do
        if [ "$serial" = "$KUBELET_VOLUME" ]; then printf '%s\n' "$path"; fi
    done)
    [ -n "$device" ] || fail "there is no disk $KUBELET_VOLUME for the data of kubelet; trying again later"
    found=0
    type=$(blkid -p -o value -s TYPE "$device") || found=$?
    if [ -z "$type" ]; then
        # Only 2 means that nothing was found on it.
        [ "$found" -eq 2 ] || fail "cannot tell what is on $device; not formatting it"
        log "formatting $device for the data of kubelet"
        mkfs.ext4 -q "$device"
    fi
    systemctl stop kubelet.service >/dev/null 2>&1 || true
    mkdir -p "$data" "$STATE/kubelet-volume"
    mount "$device" "$STATE/kubelet-volume"
    if [ ! -e "$STATE/kubelet-volume/.copied" ]; then
        cp -a "$data/." "$STATE/kubelet-volume/"
        : >"$STATE/kubelet-volume/.copied"
    fi
    umount "$STATE/kubelet-volume"
    mount "$device" "$data"
    id=$(blkid -o value -s UUID "$device")
    if ! grep -q "$id" "$ROOT/etc/fstab" 2>/dev/null; then
        printf 'UUID=%s /var/lib/kubelet ext4 defaults,nofail,x-systemd.growfs,x-systemd.before=kubelet.service,x-systemd.required-by=kubelet.service 0 2\n' "$id" \
            >>"$ROOT/etc/fstab"
    fi
}

# What kubelet and kube-proxy call, on an image that was not made for them.
provide_packages() {
    if has kubelet && has containerd; then return; fi
    log 'this image has no kubelet or no containerd; installing packages'
    if has apt-get; then
        export DEBIAN_FRONTEND=noninteractive
        limited 120 apt-get -q update || log 'no lists of packages can be had'
        limited 300 apt-get -q -y --no-install-recommends -o DPkg::Lock::Timeout=120 install \
            ca-certificates chrony conntrack curl ethtool iptables qemu-guest-agent socat ||
            log 'some packages cannot be installed'
    elif has dnf; then
        limited 300 dnf -q -y install \
            ca-certificates chrony conntrack-tools curl ethtool iptables qemu-guest-agent socat ||
            log 'some packages cannot be installed'
    fi
    systemctl start qemu-guest-agent.service >/dev/null 2>&1 || true
    set_clock
}

limited() {
    if has timeout; then timeout "$@"; else shift && "$@"; fi
}

provide_containerd() {
    if ! has runc && obtain runc "$STATE/runc"; then
        put "$STATE/runc" "$ROOT/usr/local/sbin/runc" 0755
    fi
    if ! has containerd; then
        if obtain containerd "$STATE/containerd.tar.gz"; then
            mkdir -p "$ROOT/usr/local"
            tar -xzf "$STATE/containerd.tar.gz" -C "$ROOT/usr/local"
            put "$LIB/containerd.service" "$ROOT/etc/systemd/system/containerd.service" 0644
            rm -f "$STATE/containerd.tar.gz"
        elif has apt-get; then
            limited 300 apt-get -q -y --no-install-recommends install containerd || true
        fi
        has containerd || fail 'there is no containerd and none can be had; trying again later'
    fi
    # Packages and archives put plugins into different places, and network add-ons look into one.
    if [ -d "$ROOT/usr/lib/cni" ]; then
        mkdir -p "$ROOT/opt/cni/bin"
        for plugin in "$ROOT"/usr/lib/cni/*; do
            [ -e "$ROOT/opt/cni/bin/${plugin##*/}" ] || ln -s "$plugin" "$ROOT/opt/cni/bin/"
        done
    elif [ ! -e "$ROOT/opt/cni/bin/host-local" ] && ! has kubelet; then
        if obtain cni-plugins "$STATE/cni.tgz"; then
            mkdir -p "$ROOT/opt/cni/bin"
            tar -xzf "$STATE/cni.tgz" -C "$ROOT/opt/cni/bin"
            rm -f "$STATE/cni.tgz"
        fi
    fi
}

# A drop-in, unless the image was made for Kubernetes and has what it would say.
configure_containerd() {
    restart_containerd=no
    # It was started at boot, before its proxy was written.
    if [ -f "$ROOT/etc/kvshoot/proxy.conf" ] && [ ! -e "$STATE/joined" ]; then restart_containerd=yes; fi
    dump=$(containerd config dump 2>/dev/null || true)
    if suits "$dump"; then return; fi
    config=$ROOT/etc/containerd/config.toml
    mkdir -p "$ROOT/etc/containerd/conf.d"
    # The section of a drop-in has to be of the version of the file that imports it.
    format=$(sed -n 's/^version *= *\([0-9]*\).*/\1/p' "$config" 2>/dev/null || true)
    case $format in
        2 | 3) ;;
        *)
            case $(containerd_version) in
                1.*) format=2 ;;
                *) format=3 ;;
            esac
            ;;
    esac
    import='"/etc/containerd/conf.d/*.toml"'
    if [ ! -s "$config" ]; then
        printf 'version = %s\nimports = [%s]\n' "$format" "$import" >"$config"
    else
        [ -e "$config.before-kvshoot" ] || cp -p "$config" "$config.before-kvshoot"
        # Packages of Docker switch the interface for kubelets off.
        sed -i '/^disabled_plugins/s/"\(io\.containerd\.grpc\.v1\.\)\{0,1\}cri",\{0,1\}//' "$config"
        if grep -q '^imports *= *\[.*conf\.d/\*\.toml' "$config"; then
            :
        elif grep -q '^imports *= *\[' "$config"; then
            sed -i "s|^imports *= *\[|&$import, |" "$config"
        else
            sed -i "1i imports = [$import]" "$config"
        fi
    fi
    put "$LIB/containerd-$format.toml" "$ROOT/etc/containerd/conf.d/50-kvshoot.toml" 0644
    restart_containerd=yes
}

# Whether containerd as it is configured serves kubelets, and reads mirrors if there are any.
suits() {
    case $1 in *'SystemdCgroup = true'*) ;; *) return 1 ;; esac
    if printf '%s\n' "$1" | grep -q '^disabled_plugins.*cri"'; then return 1; fi
    [ "$MIRRORED" = no ] || case $1 in */etc/containerd/certs.d*) ;; *) return 1 ;; esac
}

# The third word, such as v2.1.3 or 1.7.24~ds1.
containerd_version() {
    # shellcheck disable=SC2046
    set -- $(containerd --version)
    version=${3:-}
    printf '%s\n' "${version#v}"
}

provide_kubelet() {
    here=
    if has kubelet; then
        here=$(kubelet --version 2>/dev/null) || here=
        here=${here#Kubernetes v}
    fi
    if [ "$here" = "$KUBELET_VERSION" ]; then return; fi
    # A node keeps what it joined with: machines are replaced, not changed.
    if [ -n "$here" ] && [ -e "$STATE/joined" ]; then return; fi
    [ -z "$here" ] || log "kubelet $here is here, $KUBELET_VERSION is wanted"
    if obtain kubelet "$STATE/kubelet"; then
        put "$STATE/kubelet" "$(command -v kubelet || echo "$ROOT/usr/bin/kubelet")" 0755
        rm -f "$STATE/kubelet"
        log "kubelet $KUBELET_VERSION is installed"
    elif [ -n "$here" ]; then
        log "kubelet $KUBELET_VERSION cannot be had; going on with $here"
    else
        fail 'there is no kubelet and none can be had; trying again later'
    fi
    if ! has crictl && [ -z "$here" ] && obtain crictl "$STATE/crictl.tar.gz"; then
        mkdir -p "$ROOT/usr/local/bin"
        tar -xzf "$STATE/crictl.tar.gz" -C "$ROOT/usr/local/bin"
        rm -f "$STATE/crictl.tar.gz"
    fi
}

configure_kubelet() {
    units=$ROOT/etc/systemd/system
    mkdir -p "$ROOT/etc/kubernetes/manifests"
    if ! unit_files | grep -q '/kubelet\.service$'; then
        put "$LIB/kubelet.service" "$units/kubelet.service" 0644
    fi
    if ! unit_files | xargs grep -ls bootstrap-kubelet.conf | grep -q .; then
        put "$LIB/10-kubeadm.conf" "$units/kubelet.service.d/10-kubeadm.conf" 0644
    fi
    # Its stub on 127.0.0.53 is not there in the network of a pod.
    config=$ROOT/var/lib/kubelet/config.yaml
    if systemctl is-active --quiet systemd-resolved.service && ! grep -q '^resolvConf:' "$config"; then
        printf 'resolvConf: /run/systemd/resolve/resolv.conf\n' >>"$config"
    fi
}

# Every file that systemd would take for a part of kubelet's unit.
unit_files() {
    for folder in etc/systemd/system usr/local/lib/systemd/system usr/lib/systemd/system lib/systemd/system; do
        for unit in "$ROOT/$folder/kubelet.service" "$ROOT/$folder"/kubelet.service.d/*.conf; do
            [ ! -f "$unit" ] || printf '%s\n' "$unit"
        done
    done
}

start() {
    systemctl daemon-reload
    systemctl unmask containerd.service kubelet.service >/dev/null 2>&1 || true
    systemctl enable containerd.service kubelet.service
    if [ "$restart_containerd" = yes ]; then
        systemctl restart containerd.service
    else
        systemctl start containerd.service
    fi
    # Not whether it runs but whether it runs with what is here now.
    now=$(unit_files | xargs cat "$ROOT/var/lib/kubelet/config.yaml" "$ROOT/var/lib/kubelet/kubeadm-flags.env" \
        "$ROOT/etc/kubernetes/pki/ca.crt" "$(command -v kubelet)" | sha256sum)
    if [ "$now" = "$(cat "$STATE/started" 2>/dev/null || true)" ]; then
        systemctl start kubelet.service
    else
        systemctl restart kubelet.service
        printf '%s\n' "$now" >"$STATE/started"
    fi
}

# A kubelet that has its certificate is known to the API server. The token that it asked with is of no use any more.
wait_for_certificate() {
    waited=0
    until [ -e "$PKI" ]; do
        if [ "$waited" -ge 60 ]; then
            explain
            fail 'kubelet has no certificate after five minutes; trying again'
        fi
        if [ $((waited % 12)) -eq 11 ]; then log "waiting for the certificate of kubelet from $API_SERVER"; fi
        waited=$((waited + 1))
        sleep "$PAUSE"
    done
    rm -f "$ROOT/etc/kubernetes/bootstrap-kubelet.conf"
    if [ ! -e "$STATE/joined" ]; then
        : >"$STATE/joined"
        log "this machine has joined its cluster as $NODE"
    fi
    set_pod_range
}

# What a person needs who sees the console only.
explain() {
    log "it is $(date -u '+%Y-%m-%d %H:%M:%S') here"
    if has curl && ! curl -sk --connect-timeout 10 -o /dev/null "$API_SERVER/version"; then
        log "the API server at $API_SERVER cannot be reached"
    fi
    systemctl is-active containerd.service kubelet.service || true
    if has journalctl; then journalctl -u kubelet.service -n 15 --no-pager -o cat || true; fi
}

# The network that we brought takes the node's own range once that is known; until then it is a guess.
set_pod_range() {
    network=$ROOT/etc/cni/net.d/99-kvshoot.conflist
    if [ ! -f "$network" ] || ! has curl; then return; fi
    for _ in 1 2 3 4 5 6; do
        range=$(curl -s --max-time 10 --cacert "$ROOT/etc/kubernetes/pki/ca.crt" --cert "$PKI" --key "$PKI" \
            "$API_SERVER/api/v1/nodes/$NODE" | sed -n 's/.*"podCIDR": *"\([^"]*\)".*/\1/p' || true)
        if [ -n "$range" ]; then
            sed -i "s|\"subnet\": *\"[^\"]*\"|\"subnet\": \"$range\"|" "$network"
            return
        fi
        sleep "$PAUSE"
    done
    log 'the pod range of this node is not known yet'
}

# The CSI driver reads from its node where the VM is. The node of a VM that was stopped for a while is deleted, and kubelet
# registers it again without the annotation.
annotate() {
    if ! has curl; then return; fi
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
        if curl -sf --max-time 10 -o /dev/null --cacert "$ROOT/etc/kubernetes/pki/ca.crt" --cert "$PKI" --key "$PKI" \
            -X PATCH -H 'Content-Type: application/merge-patch+json' \
            --data "{\"metadata\":{\"annotations\":{\"cluster.x-k8s.io/cluster-namespace\":\"$NAMESPACE\"}}}" \
            "$API_SERVER/api/v1/nodes/$NODE" >/dev/null; then
            return
        fi
        sleep "$PAUSE"
    done
    log 'this node has no annotation of its namespace: volumes may not be mounted'
}

# put SOURCE TARGET MODE: in one step, so that nothing half written is ever started.
put() {
    mkdir -p "$(dirname "$2")"
    if cmp -s "$1" "$2" 2>/dev/null; then return; fi
    cp "$1" "$2.new"
    chmod "$3" "$2.new"
    mv -f "$2.new" "$2"
}

# obtain NAME FILE: fetches what the table of downloads has under that name, and checks it.
obtain() {
    case $(uname -m) in
        x86_64 | amd64) machine=amd64 ;;
        aarch64 | arm64) machine=arm64 ;;
        *) machine=$(uname -m) ;;
    esac
    while read -r name arch url digest; do
        if [ "$name" = "$1" ] && [ "$arch" = "$machine" ]; then
            verified "$url" "$digest" "$2"
            return
        fi
    done <"$LIB/downloads"
    log "no place is known where $1 for $machine can be had"
    return 1
}

# verified URL DIGEST FILE: three attempts. Without a digest, that of the server has to do, if TLS proves which server it is.
verified() {
    pause=$PAUSE
    for attempt in 1 2 3; do
        if get "$1" "$3"; then
            digest=$2
            if [ "$digest" = - ] && [ "${1#https://}" != "$1" ] && get "$1.sha256" "$3.sha256"; then
                digest=$(cut -c 1-64 "$3.sha256")
                rm -f "$3.sha256"
            fi
            if printf '%s  %s\n' "$digest" "$3" | sha256sum -c - >/dev/null 2>&1; then return 0; fi
            log "$1 is not what it should be: its digest is not $digest"
        else
            log "$1 cannot be fetched (attempt $attempt of 3)"
        fi
        rm -f "$3"
        [ "$attempt" = 3 ] || sleep "$pause"
        pause=$((pause * 2))
    done
    return 1
}

# get URL FILE, with what the image has; cloud-init brings Python along.
get() {
    if has curl; then
        curl -fsSL --connect-timeout 10 --max-time 600 -o "$2" "$1" 2>/dev/null
    elif has wget; then
        wget -q -T 30 -O "$2" "$1" 2>/dev/null
    elif has python3; then
        limited 600 python3 -c 'import shutil, sys, urllib.request as u
with u.urlopen(sys.argv[1], timeout=30) as a, open(sys.argv[2], "wb") as b: shutil.copyfileobj(a, b)' "$1" "$2" 2>/dev/null
    else
        return 1
    fi
}

main "$@"
