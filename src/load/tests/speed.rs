//! The cost of loading compared to parsing alone.

use crate::load::{LoadContext, judge};
use crate::manifest::Manifest;
use crate::state::testing::cost_ratio;
use crate::validate::testing::{PROFILE, today};

/// A Shoot with many pools, as a generator of manifests would write it.
fn many_pools(pools: usize) -> String {
    let mut text = String::from(
        "apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nmetadata:\n  name: wide\nspec:\n  cloudProfileName: kubevirt\n  region: europe-west1\n  networking: {type: calico, nodes: 192.168.0.0/16, pods: 10.0.0.0/8}\n  kubernetes: {version: 1.34.2}\n  provider:\n    type: kubevirt\n    workers:\n",
    );
    for i in 0..pools {
        let maximum = i % 9 + 2;
        text += &format!(
            "    - name: pool-{i}\n      machine:\n        type: small\n        image:\n          name: ubuntu\n          version: \"24.04\"\n      minimum: 1\n      maximum: {maximum}\n      maxSurge: 25%\n      volume:\n        type: fast\n        size: 20Gi\n      zones:\n      - europe-west1-b\n      - europe-west1-c\n      labels:\n        example.org/tier: \"{i}\"\n      taints:\n      - {{key: a, value: b, effect: PreferNoSchedule}}\n"
        );
    }
    text
}

/// Debug builds distort the ratio, so that they detect gross regressions only.
const LIMIT: f64 = if cfg!(debug_assertions) { 6.0 } else { 2.0 };

#[test]
fn loading_is_about_as_fast_as_parsing() {
    let pools = if cfg!(debug_assertions) { 500 } else { 10_000 };
    let text = many_pools(pools);
    let whole = || {
        let files = [("wide.yaml", text.as_str()), ("p.yaml", PROFILE)];
        let files = files.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec()));
        judge(Manifest::parse(files), &LoadContext::at(today()))
    };
    let loaded = whole();
    assert_eq!(loaded.manifest.problems(), []);
    assert_eq!(loaded.shoots[0].pools.len(), pools);
    drop(loaded);
    let parse = || {
        let events = granit_parser::Parser::new_from_str(&text);
        std::hint::black_box(events.filter(Result::is_ok).count());
    };
    let ratio = cost_ratio(parse, || drop(std::hint::black_box(whole())));
    assert!(ratio < LIMIT, "{ratio:.2} times the CPU time of parsing");
}
