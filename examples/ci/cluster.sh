#!/bin/sh
# A cluster for steps that `kvshoot run` would not fit around: with a trap, and an expiry in the manifest for the case that
# even the trap does not come to its turn.
#
#     examples/ci/cluster.sh examples/minimal.yaml sh e2e.sh
set -eu

manifest=$1
shift
# Gone an hour from now, whatever becomes of this script: kvshoot gc, or any kvshoot run, takes it then.
end=$(date -u -d '+1 hour' +%Y-%m-%dT%H:%M:%SZ)
expiring=$(sed "/^kind: Shoot/,/^spec:/s|^metadata:|&\n  annotations:\n    shoot.gardener.cloud/expiration-timestamp: \"$end\"|" "$manifest")
name=$(echo "$expiring" | kvshoot validate -f - | sed -n 's|^shoot[^/]*/\(.*\) valid$|\1|p')
keys=$(mktemp)

clean_up() {
    code=$?
    trap - EXIT INT TERM
    if [ "$code" -ne 0 ]; then
        kvshoot bundle "$name" -o "${KVSHOOT_ARTIFACTS:-.}" || true
    fi
    rm -f "$keys"
    kvshoot delete "$name" --yes --ignore-not-found || code=$?
    exit "$code"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

echo "$expiring" | kvshoot apply -f -
kvshoot kubeconfig get "$name" > "$keys"
KUBECONFIG=$keys "$@"
