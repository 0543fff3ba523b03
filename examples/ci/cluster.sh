#!/bin/sh
# A cluster for steps that do not fit into one `kvshoot run`: a trap deletes it, and an expiry in the manifest covers the
# case that the trap does not run.
#
#     examples/ci/cluster.sh examples/minimal.yaml sh e2e.sh
set -eu

manifest=$1
shift
# The cluster expires in an hour; then `kvshoot gc`, or any `kvshoot run`, deletes it even if this script was killed.
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
