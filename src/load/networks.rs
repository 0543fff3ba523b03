//! Check that a Shoot's pod network has manifests: it is built in, in the CloudProfile, or an add-on.

use crate::manifest::{DocumentId, Manifest, Problem};
use crate::model::{CloudProfile, FieldPath, FindingKind, Shoot, suggest};
use crate::validate::BUILT_IN_NETWORKS;

/// Reports a `networking.type` without manifests. `addons` are the names of the add-ons that are given.
pub(super) fn check(
    manifest: &mut Manifest,
    document: DocumentId,
    shoot: &Shoot,
    profile: Option<&CloudProfile>,
    addons: &[String],
) {
    // Without its CloudProfile nothing is certain.
    let (wanted, Some(profile)) = (shoot.spec.networking.type_.as_str(), profile) else {
        return;
    };
    let offered = profile.spec.provider_config.network_manifests.iter();
    let known = BUILT_IN_NETWORKS
        .into_iter()
        .chain(offered.map(|it| it.type_.as_str()))
        .chain(addons.iter().map(String::as_str));
    if wanted.is_empty() || known.clone().any(|it| it == wanted) {
        return;
    }
    let path = FieldPath::root().child("spec").child("networking");
    let message = format!("no manifests for network {wanted:?}");
    let hint = suggest(wanted, known).map_or_else(
        || format!("use flannel or none, pass --addons DIR with {wanted}.yaml, or add it to networkManifests of the CloudProfile"),
        |meant| format!("did you mean {meant:?}?"),
    );
    let kind = FindingKind::NotSupported;
    let problem = Problem::new(path.child("type"), kind, "networking/type", message);
    manifest.report(document, problem.hint(Some(hint)));
}
