//! Random mutations of valid inputs, for tests that try whatever a server, a person or a file may say.
//!
//! Each test has its seeds and its check; it must neither panic nor take long, nor use much memory.

use serde_json::{Value, json};
use std::time::Duration;

/// Rounds of a test unless `KVSHOOT_FUZZ_ROUNDS` says otherwise: few enough for every run of the tests.
/// `KVSHOOT_FUZZ_SEED` selects other mutations.
pub(crate) const ROUNDS: u64 = 1_500;
/// The most CPU time of a round.
const MAX_TIME: Duration = Duration::from_secs(1);
/// The most memory of a process that only runs such tests, in KiB.
const MAX_MEMORY: u64 = 256 << 10;

/// Checks mutations of `seeds`, and prints the numbers if there are more rounds than usual. `check` gets the number of the round, for its messages.
pub(crate) fn fuzz(seeds: &[&[u8]], check: impl Fn(&[u8], u64)) {
    let shown = |text: &Vec<u8>| String::from_utf8_lossy(text).into_owned();
    run(
        ROUNDS,
        |it| it.mutant(seeds),
        |text, round| check(text, round),
        shown,
    );
}

/// Checks JSON that has the form of `seed`, and other values in a few places: text that was changed anywhere is rarely
/// JSON.
pub(crate) fn fuzz_json(rounds: u64, seed: &Value, check: impl Fn(&Value, u64)) {
    let change = |random: &mut Random| {
        let mut value = seed.clone();
        for _ in 0..=random.below(4) {
            random.change(&mut value);
        }
        value
    };
    run(rounds, change, check, Value::to_string);
}

#[expect(
    clippy::print_stdout,
    reason = "the numbers are the result of the test"
)]
fn run<T>(
    usual: u64,
    make: impl Fn(&mut Random) -> T,
    check: impl Fn(&T, u64),
    shown: impl Fn(&T) -> String,
) {
    let mut random = Random(variable("KVSHOOT_FUZZ_SEED").unwrap_or(0x9E37_79B9_7F4A_7C15));
    let rounds = variable("KVSHOOT_FUZZ_ROUNDS");
    let (begun, mut longest) = (cpu_time(), Duration::ZERO);
    for round in 0..rounds.unwrap_or(usual) {
        let input = make(&mut random);
        let before = cpu_time();
        // A panic ends the test, with its message.
        check(&input, round);
        let time = cpu_time().saturating_sub(before);
        longest = longest.max(time);
        assert!(
            time < MAX_TIME,
            "round {round} took {time:?}: {}",
            shown(&input)
        );
    }
    if let Some(rounds) = rounds {
        let (memory, total) = (peak_memory(), cpu_time().saturating_sub(begun));
        let test = std::thread::current();
        let test = test.name().unwrap_or_default().to_owned();
        let mebibytes = memory >> 10;
        println!(
            "{test}: {rounds} rounds in {total:.1?}, 0 panics, longest {longest:?}, {mebibytes} MiB"
        );
        assert!(memory < MAX_MEMORY, "{memory} KiB");
    }
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// CPU time of this thread, which does not depend on what else runs.
pub(crate) fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.try_into().expect("the time is positive")
}

/// The most memory that this process has used, in KiB.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|it| it.starts_with("VmHWM:"));
    let number = line.and_then(|it| it.split_whitespace().nth(1)?.parse().ok());
    number.unwrap_or_default()
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }

    fn mutant(&mut self, seeds: &[&[u8]]) -> Vec<u8> {
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
        let mut text = seeds[first].to_vec();
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
                    let other = seeds[self.below(seeds.len())];
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

    /// Changes one value of an object or a list, at any depth.
    fn change(&mut self, value: &mut Value) {
        let descends = self.below(8) != 0;
        match value {
            Value::Object(fields) if descends && !fields.is_empty() => {
                let index = self.below(fields.len());
                let name = fields.keys().nth(index).expect("it is one of them").clone();
                match self.below(10) {
                    0 => drop(fields.remove(&name)),
                    _ => self.change(&mut fields[&name]),
                }
            }
            Value::Array(items) if descends && !items.is_empty() => {
                let index = self.below(items.len());
                match self.below(10) {
                    0 => drop(items.remove(index)),
                    1 => {
                        let copy = items[index].clone();
                        let copies = self.below(20);
                        items.extend(std::iter::repeat_n(copy, copies));
                    }
                    _ => self.change(&mut items[index]),
                }
            }
            other => *other = self.value(),
        }
    }

    fn value(&mut self) -> Value {
        const TEXTS: &[&str] = &[
            "",
            " ",
            "-",
            "0",
            "-1",
            "1",
            "3",
            "true",
            "True",
            "False",
            "Unknown",
            "x",
            "a/b",
            "\u{0}",
            "\u{1b}[2J",
            "ü",
            "{}",
            "[]",
            "null",
            "{\"a\":",
            "99999999999999999999",
            "9223372036854775807",
            "1.5Gi",
            "1e400",
            "100.0%",
            "-7%",
            "NaN%",
            "10.0.0.1",
            "::1",
            "10.0.0.0/33",
            "2026-01-02T03:04:05Z",
            "9999-12-31T23:59:59Z",
            "-009999-01-01T00:00:00Z",
            "v1.34.1",
            "1.999",
            "Running",
            "Succeeded",
            "Failed",
            "ErrorUnschedulable",
            "CrashLoopBackOff",
            "External",
            "Ready",
            "YQ==",
            "aaaaaaaaaaaaaaaa",
        ];
        match self.below(14) {
            0 => Value::Null,
            1 => Value::Bool(true),
            2 => json!([]),
            3 => json!({}),
            4 => json!([[[[{"a": null}]]]]),
            5 => json!(-1),
            6 => json!(u64::MAX),
            7 => json!(i64::MIN),
            8 => json!(1e300),
            9 => Value::from("x".repeat(self.below(5_000))),
            _ => Value::from(TEXTS[self.below(TEXTS.len())]),
        }
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
