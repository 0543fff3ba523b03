//! Random mutations of valid manifests.

use std::time::Instant;

use crate::load::{LoadContext, judge};
use crate::manifest::Manifest;
use crate::ui::problems;
use crate::validate::testing::{PROFILE, SHOOT, WIDE, today};

/// Few enough for every test run; `KVSHOOT_FUZZ_ROUNDS` and `KVSHOOT_FUZZ_SEED` override it.
const ROUNDS: u64 = 1_500;

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Nothing panics or takes long, every problem has a place, and the types can read what the schema accepts.
#[test]
fn no_text_causes_a_panic_or_a_hang() {
    let secrets = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {kubeconfig: \"{clusters: [{name: c, cluster: {server: 'https://192.0.2.1'}}], contexts: [{name: c, context: {cluster: c}}], current-context: c}\"}\n---\napiVersion: core.gardener.cloud/v1beta1\nkind: SecretBinding\nmetadata: {name: b}\nsecretRef: {name: s}\n";
    let whole = format!("{SHOOT}---\n{PROFILE}");
    let wide = format!("{WIDE}---\n{PROFILE}---\n{secrets}");
    let seeds: Vec<Vec<u8>> = [whole.as_str(), &wide, PROFILE, secrets, WIDE]
        .map(|it| it.as_bytes().to_vec())
        .to_vec();
    let mut random = Random(variable("KVSHOOT_FUZZ_SEED").unwrap_or(0x9E37_79B9_7F4A_7C15));
    for round in 0..variable("KVSHOOT_FUZZ_ROUNDS").unwrap_or(ROUNDS) {
        let text = random.mutant(&seeds);
        let start = Instant::now();
        check(&text, round);
        let seconds = start.elapsed().as_secs_f64();
        assert!(seconds < 5.0, "round {round} took {seconds} s");
    }
}

fn check(text: &[u8], round: u64) {
    let context = LoadContext::at(today());
    let loaded = judge(
        Manifest::parse([("fuzz.yaml".to_owned(), text.to_vec())]),
        &context,
    );
    let manifest = &loaded.manifest;
    for problem in manifest.problems().iter().chain(manifest.warnings()) {
        let text = String::from_utf8_lossy(text);
        let place = problem.span.expect("every problem has a place");
        let source = &manifest.sources()[0];
        let (line, column) = source.line_column(place.start);
        let is_inside = line >= 1 && column >= 1 && place.end as usize <= source.text.len() + 1;
        assert!(is_inside, "round {round}: {problem:?}\n{text}");
        assert!(
            !["schema/unreadable", "shoot/unresolved"].contains(&problem.code),
            "round {round}: {problem:?}\n{text}"
        );
    }
    if round.is_multiple_of(16) {
        let few = &manifest.problems()[..manifest.problems().len().min(5)];
        problems::all_as_text(few, &[], manifest.sources(), false, 100);
        problems::json(few, &[], manifest.sources());
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }

    fn mutant(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        const PIECES: &[&str] = &[
            ": ",
            "- ",
            "\n",
            "  ",
            "\t",
            "{",
            "}",
            "[",
            "]",
            "&a ",
            "*a",
            "<<: *a",
            "|\n",
            ">-\n",
            "'",
            "\"",
            "#",
            "---\n",
            "...\n",
            "!!str ",
            "!x ",
            "%YAML 1.2\n",
            "? ",
            "null",
            "1.30",
            "yes",
            "\0",
            "\u{feff}",
            "\r\n",
            "ü",
            "\u{1F600}",
            "0x",
            "-1",
            "99999999999999999999",
            "\\ud83d",
            "- - - ",
            "{a: ",
            "[[[[",
            ",",
        ];
        let first = self.below(seeds.len());
        let mut text = seeds[first].clone();
        for _ in 0..=self.below(6) {
            let at = self.below(text.len() + 1);
            match self.below(8) {
                0 => text.truncate(at),
                1 => {
                    let piece = PIECES[self.below(PIECES.len())];
                    text.splice(at..at, piece.bytes());
                }
                2 => {
                    let end = (at + self.below(20)).min(text.len());
                    text.drain(at..end);
                }
                3 if at < text.len() => {
                    text[at] = u8::try_from(self.below(256)).expect("below 256")
                }
                4 => {
                    let other = &seeds[self.below(seeds.len())];
                    let from = self.below(other.len());
                    let to = (from + self.below(200)).min(other.len());
                    let cut = other[from..to].to_vec();
                    text.splice(at..at, cut);
                }
                5 => self.swap_lines(&mut text),
                6 => {
                    let end = (at + self.below(100)).min(text.len());
                    let copy = text[at..end].to_vec();
                    text.splice(at..at, copy);
                }
                _ => self.change_indentation(&mut text),
            }
        }
        text
    }

    fn swap_lines(&mut self, text: &mut Vec<u8>) {
        let mut lines: Vec<Vec<u8>> = text.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
        let (a, b) = (self.below(lines.len()), self.below(lines.len()));
        lines.swap(a, b);
        *text = lines.join(&b'\n');
    }

    fn change_indentation(&mut self, text: &mut Vec<u8>) {
        let mut lines: Vec<Vec<u8>> = text.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
        let line = self.below(lines.len());
        if self.below(2) == 0 {
            lines[line].splice(0..0, *b"  ");
        } else if lines[line].starts_with(b"  ") {
            lines[line].drain(..2);
        }
        *text = lines.join(&b'\n');
    }
}
