//! Unique names of shoots.

use crate::app::error::{CommandError, Exit};
use crate::app::manifests::files::SourceTexts;
use crate::manifest::{Content, Manifest};
use crate::model::{FieldPath, Shoot};
use crate::{pki, validate};

/// Length of a hyphen and the random characters.
const SUFFIX: usize = 6;
/// Length of `shoot--`, of the second `--`, and of the longest project and name together.
const MAX_ID: usize = 7 + 2 + 21;

/// Replaces the name of each Shoot in place, so that line numbers stay the same.
///
/// # Errors
///
/// The operating system provides no random numbers.
pub(super) fn generate(mut texts: SourceTexts) -> Result<SourceTexts, CommandError> {
    let manifest = Manifest::parse(texts.clone());
    let path = FieldPath::root().child("metadata").child("name");
    let mut changes = Vec::new();
    for (document, content) in manifest.documents() {
        if let Content::Shoot(shoot) = content
            && let Some(place) = manifest.locate(document, &path)
        {
            let suffix = pki::random_suffix().map_err(|error| {
                CommandError::new(Exit::Bug, "cannot generate a random name")
                    .cause(error.to_string())
            })?;
            changes.push((place, name(shoot, &suffix)));
        }
    }
    // Last to first, so that earlier places stay valid.
    changes.sort_by_key(|it| std::cmp::Reverse((it.0.source, it.0.start)));
    for (place, name) in changes {
        let source = &manifest.sources()[place.source as usize];
        let text = &mut texts[place.source as usize].1;
        if *text != source.text.as_bytes() {
            // It has another encoding, or was changed for another Shoot.
            let changed = String::from_utf8(std::mem::take(text));
            *text = changed.map_or_else(|_| source.text.clone().into_bytes(), String::into_bytes);
        }
        let (start, end) = (place.start as usize, place.end as usize);
        text.splice(start..end, format!("{name:?}").into_bytes());
    }
    Ok(texts)
}

/// The name with a suffix, shortened to fit.
fn name(shoot: &Shoot, suffix: &str) -> String {
    let given = &shoot.metadata.name;
    let others = validate::id(shoot).len() - given.len();
    let limit = MAX_ID.saturating_sub(others + SUFFIX);
    let mut stem = given.as_str();
    while stem.len() > limit {
        stem = &stem[..stem.char_indices().next_back().map_or(0, |it| it.0)];
    }
    match stem.trim_end_matches('-') {
        "" => suffix.to_owned(),
        stem => format!("{stem}-{suffix}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOOT: &str = "kind: Shoot\napiVersion: core.gardener.cloud/v1beta1\nmetadata:\n  name: NAME # ours\nspec: {}\n";

    fn check(texts: &[&str]) -> Vec<String> {
        let texts = texts
            .iter()
            .map(|it| ("shoot.yaml".to_owned(), it.as_bytes().to_vec()));
        let generated = generate(texts.collect()).expect("random numbers");
        let texts = generated.into_iter();
        texts
            .map(|it| String::from_utf8(it.1).expect("UTF-8"))
            .collect()
    }

    /// The name without the five random characters.
    fn stem(text: &str) -> String {
        let line = text.lines().find(|it| it.starts_with("  name: "));
        let name = line.and_then(|it| it.split('"').nth(1)).unwrap_or_default();
        assert!(name.len() >= 5, "{text}");
        name[..name.len() - 5].to_owned()
    }

    #[test]
    fn a_name_gets_a_random_suffix_and_nothing_else_changes() {
        let texts = check(&[&SHOOT.replace("NAME", "ci"), "kind: Secret\n"]);
        assert_eq!(stem(&texts[0]), "ci-");
        assert!(texts[0].ends_with("\" # ours\nspec: {}\n"), "{}", texts[0]);
        assert_eq!(texts[1], "kind: Secret\n");
        let again = check(&[&SHOOT.replace("NAME", "ci")]);
        assert_ne!(texts[0], again[0]);
    }

    #[test]
    fn each_shoot_of_a_file_gets_a_suffix() {
        let two = [SHOOT.replace("NAME", "one"), SHOOT.replace("NAME", "'two'")].join("---\n");
        let texts = check(&[&two]);
        let (one, two) = texts[0].split_once("---").expect("two documents");
        assert_eq!((stem(one).as_str(), stem(two).as_str()), ("one-", "two-"));
    }

    /// Project and name have at most 21 characters together.
    #[test]
    fn a_long_name_is_shortened() {
        let texts = check(&[&SHOOT.replace("NAME", "end-to-end-tests")]);
        assert_eq!(stem(&texts[0]), "end-to-end-");
        let named = SHOOT.replace("NAME", "testing\n  namespace: garden-networking");
        assert_eq!(stem(&check(&[&named])[0]), "testi-");
    }

    #[test]
    fn an_unreadable_manifest_is_unchanged() {
        for text in ["kind: [", "kind: Shoot\n", ""] {
            assert_eq!(check(&[text]), [text]);
        }
    }
}
