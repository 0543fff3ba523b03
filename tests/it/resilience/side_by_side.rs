//! Many shoots in one folder.

use crate::support::provider::{self, Provider};
use crate::support::proxy::{Proxy, RecordedRequest};
use crate::support::shoots::{Manifest, PATIENCE};
use std::time::Instant;

const COUNT: usize = 10;

#[test]
#[ignore = "second tier: eleven control planes; the first tier applies three shoots side by side"]
fn ten_shoots_in_a_folder_share_watches_and_a_broken_one_changes_nothing_for_them() {
    let provider = Provider::new();
    let alone = Manifest::small("alone");
    let kvshoot = provider.kvshoot_with(&alone);
    let begun = Instant::now();
    let output = kvshoot.run("apply -f shoot.yaml --timeout 15m");
    let one = begun.elapsed();
    assert_eq!(output.code, 0, "{output}");
    provider.assert_deleted(alone.name());

    let proxy = Proxy::new(&provider);
    let profile = serde_yaml::to_string(&alone.profile).unwrap();
    let mut kvshoot = proxy
        .kvshoot(&provider)
        .file("shoots/profile.yaml", &profile);
    for number in 0..COUNT {
        let shoot = Manifest::small(&format!("many-{number}")).shoot;
        let text = serde_yaml::to_string(&shoot).unwrap();
        kvshoot = kvshoot.file(&format!("shoots/{number}.yaml"), &text);
    }
    let broken = Manifest::small("broken").pool(|it| it["machine"]["type"] = "smal".into());
    let broken = serde_yaml::to_string(&broken.shoot).unwrap();
    let kvshoot = kvshoot.file("shoots/broken.yaml", &broken);
    let begun = Instant::now();
    let mut run = kvshoot.start("apply -f shoots --timeout 30m");
    let output = run.wait_at_most(10 * PATIENCE);
    let many = begun.elapsed();
    assert_eq!(output.code, 3, "{output}");
    assert_eq!(
        output
            .out
            .lines()
            .filter(|it| it.ends_with(" created"))
            .count(),
        COUNT,
        "{output}"
    );
    assert_eq!(provider.names(provider::VM).len(), COUNT, "{output}");
    let ratio = many.as_secs_f64() / one.as_secs_f64();
    println!("one shoot: {one:.1?}, {COUNT} shoots: {many:.1?}, ratio {ratio:.2}");

    let requests = proxy.requests();
    let watches = requests.iter().filter(|it| it.verb == "watch");
    println!("{} WATCHes for {COUNT} shoots", watches.count());
    for (resource, kinds) in [("virtualmachines.kubevirt.io", 1), ("secrets", 2)] {
        let of = |it: &&RecordedRequest| it.resource == resource && it.verb == "watch";
        assert_eq!(requests.iter().filter(of).count(), kinds, "{resource}");
    }
    let again = kvshoot.run("apply -f shoots --timeout 15m");
    assert_eq!(
        again
            .out
            .lines()
            .filter(|it| it.ends_with(" unchanged"))
            .count(),
        COUNT,
        "{again}"
    );
}
