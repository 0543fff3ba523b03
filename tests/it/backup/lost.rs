//! Lost keys and lost data: each command names what is lost and the command that brings it back.

use crate::support::provider::{CLAIM, POD, Provider, SECRET};
use crate::support::shoots::Manifest;

const NAME: &str = "gone";

#[test]
#[ignore = "second tier: a control plane and many commands; unit tests name what is lost, and the first tier restores a lost volume"]
fn lost_keys_and_data_are_named_with_the_command_that_brings_them_back() {
    let provider = Provider::new();
    let manifest = Manifest::small(NAME);
    provider.assert_applied(&manifest, "created");
    let kvshoot = provider.kvshoot_with(&manifest);
    let output = kvshoot.run(&format!("backup {NAME} --to there --with-plain-keys"));
    assert_eq!(output.code, 0, "{output}");
    let commands = [
        "apply -f shoot.yaml".to_owned(),
        format!("status {NAME}"),
        format!("why {NAME}"),
    ];

    let parts = [
        "ca",
        "etcd-ca",
        "front-proxy-ca",
        "service-account-key",
        "encryption-key",
    ];
    for part in parts {
        let secret = format!("{}-{part}", manifest.id());
        provider.delete(SECRET, &secret);
        for command in &commands {
            let output = kvshoot.run(command);
            assert_ne!(output.code, 0, "{output}");
            let text = format!("{}{}", output.out, output.err);
            let mends = format!("kvshoot restore {NAME} --from DEST --secrets-only");
            assert!(text.contains(&secret) && text.contains(&mends), "{output}");
        }
        let mended = kvshoot.run(&format!("restore {NAME} --from there --secrets-only --yes"));
        assert_eq!(mended.out, format!("secret/{secret} created\n"), "{mended}");
        assert_eq!(mended.code, 0, "{mended}");
    }
    provider.assert_unchanged(&manifest);

    let pod = format!("{}-etcd-0", manifest.id());
    provider.delete(CLAIM, &format!("data-{pod}"));
    provider.delete(POD, &pod);
    for command in &commands {
        let output = kvshoot.run(command);
        assert_ne!(output.code, 0, "{output}");
        let text = format!("{}{}", output.out, output.err);
        let lost = "the volume of etcd member 0 has no data of this cluster";
        let mends = "kvshoot restore NAME --from DEST";
        assert!(text.contains(lost) && text.contains(mends), "{output}");
    }
    provider.assert_deleted(NAME);
    let output = kvshoot.run(&format!("status {NAME}"));
    let mends = format!("kvshoot restore {NAME} --from DEST");
    assert!(output.err.contains(&mends), "{output}");
}
