#!/bin/sh
# Takes new certificate authorities of the cluster, and gives kubelet certificates of the new one. A timer runs it every
# minute; pods keep running. It changes nothing while the machine has the certificate authorities that the cluster publishes.
#
# It may be interrupted anywhere: the next run, also after a reboot, continues with the files in $NEW.
set -eu

# Tests run it below another root.
ROOT=${ROOT:-}
STATE=$ROOT/var/lib/kvshoot
# What the machine has; before the first renewal that is what it was created with.
HAS=$STATE/certificate-authorities
NEW=$STATE/renewal
# Gone after a reboot, because the node may have been deleted meanwhile.
REPORTED=$ROOT/run/kvshoot-certificate-authorities
KUBERNETES=$ROOT/etc/kubernetes
PKI=$ROOT/var/lib/kubelet/pki
CLIENT=$PKI/kubelet-client-current.pem
SERVER=$PKI/kubelet-server-current.pem
# Seconds from one look to the next.
PAUSE=${PAUSE:-5}
[ -n "$ROOT" ] || PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/bin

# API_SERVER, NODE, CERTIFICATE_AUTHORITIES
# shellcheck source=/dev/null
. "$ROOT/etc/kvshoot/join.conf"

log() { printf 'kvshoot-renew: %s\n' "$*"; }

main() {
    # The machine has not joined yet.
    if [ ! -e "$STATE/joined" ]; then return; fi
    if [ ! -e "$NEW/roots" ]; then
        fetch
        if [ "$roots" != "$(has)" ]; then prepare; fi
    fi
    if [ -e "$NEW/roots" ]; then renew; fi
    report
}

has() {
    if [ -e "$HAS" ]; then cat "$HAS"; else printf '%s\n' "$CERTIFICATE_AUTHORITIES"; fi
}

# Reads what the cluster publishes. The server is verified with the certificate authorities that the machine has.
fetch() {
    answer=$(request "$API_SERVER/api/v1/namespaces/kube-system/configmaps/kvshoot-certificate-authorities")
    roots=$(field roots "$answer")
    bundle=$(printf '%b' "$(field ca.crt "$answer")")
    case $bundle in
        '-----BEGIN CERTIFICATE-----'*) ;;
        *)
            log 'the cluster publishes no certificate authority'
            exit 1
            ;;
    esac
}

# field NAME JSON: a text without quotes.
field() {
    printf '%s' "$2" | sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p" | sed -n 1p
}

request() {
    curl -sf --max-time 10 --cacert "$KUBERNETES/pki/ca.crt" --cert "$CLIENT" --key "$CLIENT" "$@"
}

# Keeps the present certificate of kubelet, with which it asks for the next one. The last file says that all are complete.
prepare() {
    rm -rf "$NEW"
    (umask 077 && mkdir -p "$NEW" && cat "$CLIENT" >"$NEW/kubelet.pem")
    printf '%s\n' "$bundle" >"$NEW/ca.crt"
    if [ -e "$SERVER" ]; then : >"$NEW/serving"; fi
    printf '%s\n' "$roots" >"$NEW/roots.part"
    mv -f "$NEW/roots.part" "$NEW/roots"
    log "taking certificate authorities $roots"
}

renew() {
    if [ ! -e "$NEW/removed" ]; then
        cp "$NEW/ca.crt" "$KUBERNETES/pki/ca.crt.new"
        mv -f "$KUBERNETES/pki/ca.crt.new" "$KUBERNETES/pki/ca.crt"
        # Kubelet checks the server with the certificate authorities in this file.
        rm -f "$KUBERNETES/kubelet.conf" "$PKI"/kubelet-client-* "$PKI"/kubelet-server-*
        : >"$NEW/removed"
    fi
    if [ ! -e "$CLIENT" ]; then
        bootstrap >"$KUBERNETES/bootstrap-kubelet.conf"
        systemctl restart kubelet.service
    fi
    waited=0
    until [ -e "$CLIENT" ] && { [ ! -e "$NEW/serving" ] || [ -e "$SERVER" ]; }; do
        if [ "$waited" -ge 60 ]; then
            log 'kubelet has no certificates after five minutes; trying again'
            exit 1
        fi
        waited=$((waited + 1))
        sleep "$PAUSE"
    done
    rm -f "$KUBERNETES/bootstrap-kubelet.conf"
    mv -f "$NEW/roots" "$HAS"
    rm -rf "$NEW" "$REPORTED"
    log "kubelet has certificates of certificate authorities $(has)"
}

# With it, kubelet asks for a certificate as the node that it is.
bootstrap() {
    umask 077
    cat <<END
apiVersion: v1
kind: Config
clusters:
- name: shoot
  cluster:
    server: $API_SERVER
    certificate-authority: /etc/kubernetes/pki/ca.crt
users:
- name: renewal
  user:
    client-certificate: /var/lib/kvshoot/renewal/kubelet.pem
    client-key: /var/lib/kvshoot/renewal/kubelet.pem
contexts:
- name: renewal
  context:
    cluster: shoot
    user: renewal
current-context: renewal
END
}

report() {
    if [ -e "$REPORTED" ]; then return; fi
    request -o /dev/null -X PATCH -H 'Content-Type: application/merge-patch+json' \
        --data "{\"metadata\":{\"annotations\":{\"kvshoot.io/certificate-authorities\":\"$(has)\"}}}" \
        "$API_SERVER/api/v1/nodes/$NODE"
    mkdir -p "$ROOT/run"
    : >"$REPORTED"
}

main "$@"
