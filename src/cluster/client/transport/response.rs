//! Reading of responses within limits, so that no server can use up the memory of this process.

use crate::cluster::client::error::{Error, RequestInfo};
use http_body_util::BodyExt as _;
use kube::client::Body;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

/// The most bytes of a response that is one object. etcd stores at most 1.5 MiB of it.
pub(in crate::cluster::client) const MAX_OBJECT: usize = 8 << 20;
/// The most bytes of all pages of a LIST, as text and in memory once it is parsed.
const MAX_LIST: usize = 24 << 20;
const MAX_PARSED: usize = 64 << 20;

/// Memory for the responses that this process holds at the same time, in units of [`UNIT`] bytes. It is enough for the
/// largest LIST with its text.
static MEMORY: Semaphore = Semaphore::const_new(96);
/// How long a response waits until others are done. Several may wait for each other.
const MAX_WAIT: Duration = Duration::from_secs(5);
const UNIT: usize = 1 << 20;
/// Small responses take nothing of it.
const FREE: usize = 1 << 20;

/// There is no memory for a response.
#[derive(Debug)]
pub(super) struct TooLarge;

/// Memory that a response takes; it is free again when this is dropped.
#[derive(Debug)]
pub(in crate::cluster::client) struct Reservation {
    memory: &'static Semaphore,
    permit: Option<SemaphorePermit<'static>>,
    units: usize,
}

impl Default for Reservation {
    fn default() -> Reservation {
        Reservation::of(&MEMORY)
    }
}

impl Reservation {
    fn of(memory: &'static Semaphore) -> Reservation {
        Reservation {
            memory,
            permit: None,
            units: 0,
        }
    }

    /// Waits until there is memory for `bytes` in all.
    pub(super) async fn grow(&mut self, bytes: usize) -> Result<(), TooLarge> {
        let units = bytes.saturating_sub(FREE).div_ceil(UNIT);
        let more = u32::try_from(units.saturating_sub(self.units)).unwrap_or(u32::MAX);
        if more == 0 {
            return Ok(());
        }
        let Ok(permit) = timeout(MAX_WAIT, self.memory.acquire_many(more)).await else {
            return Err(TooLarge);
        };
        let permit = permit.expect("the semaphore is never closed");
        match &mut self.permit {
            Some(held) => held.merge(permit),
            None => self.permit = Some(permit),
        }
        self.units = units;
        Ok(())
    }

    pub(super) fn shrink(&mut self, bytes: usize) {
        let units = bytes.saturating_sub(FREE).div_ceil(UNIT);
        if let Some(held) = &mut self.permit {
            // Dropped at once.
            held.split(self.units.saturating_sub(units));
        }
        self.units = self.units.min(units);
    }
}

/// Limits of the responses that belong together, which are one object or the pages of a LIST, and the memory that they
/// take.
#[derive(Debug)]
pub(in crate::cluster::client) struct ResponseLimits {
    /// Bytes of text that may still be read.
    text: usize,
    /// Bytes that parsed values may still take.
    parsed: usize,
    memory: Reservation,
}

impl ResponseLimits {
    pub(in crate::cluster::client) fn object() -> ResponseLimits {
        ResponseLimits::new(MAX_OBJECT)
    }

    pub(in crate::cluster::client) fn list() -> ResponseLimits {
        ResponseLimits::new(MAX_LIST)
    }

    fn new(text: usize) -> ResponseLimits {
        ResponseLimits {
            text,
            parsed: MAX_PARSED,
            memory: Reservation::default(),
        }
    }

    /// Bytes that the values take that were parsed so far.
    fn held(&self) -> usize {
        MAX_PARSED - self.parsed
    }

    /// Returns the memory that the parsed values take.
    pub(in crate::cluster::client) fn into_memory(self) -> Reservation {
        self.memory
    }

    /// Reads a body. The rest of one that is too large is not awaited.
    pub(in crate::cluster::client) async fn read(
        &mut self,
        body: Body,
    ) -> Result<Vec<u8>, ReadError> {
        let held = self.held();
        let bytes = read_at_most(self.text, body, &mut self.memory, held).await?;
        self.text -= bytes.len();
        Ok(bytes)
    }

    /// Parses JSON.
    pub(in crate::cluster::client) async fn parse(
        &mut self,
        json: &[u8],
    ) -> Result<Value, ParseError> {
        let size = parsed_size(json).min(self.parsed);
        let needed = self.held() + size + json.len();
        let reserved = self.memory.grow(needed).await;
        reserved.map_err(|TooLarge| ParseError::TooLarge)?;
        let value = parse(json, &mut self.parsed)?;
        self.memory.shrink(self.held());
        Ok(value)
    }
}

/// Why a body was not read.
pub(in crate::cluster::client) enum ReadError {
    TooLarge,
    Failed(kube::Error),
}

/// Reads a body of at most `most` bytes, for which memory is reserved besides `held` bytes.
async fn read_at_most(
    most: usize,
    mut body: Body,
    memory: &mut Reservation,
    held: usize,
) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(ReadError::Failed)?.into_data() else {
            // Trailers.
            continue;
        };
        let length = bytes.len() + data.len();
        if length > most {
            return Err(ReadError::TooLarge);
        }
        let reserved = memory.grow(held + length).await;
        reserved.map_err(|TooLarge| ReadError::TooLarge)?;
        // Without reserve: a large body would take up to twice its size.
        bytes.reserve_exact(match length > bytes.capacity() {
            true => data.len().max(UNIT.min(most - bytes.len())),
            false => 0,
        });
        bytes.extend_from_slice(&data);
    }
    Ok(bytes)
}

/// Reads a file of at most `most` bytes.
pub(in crate::cluster::client) async fn read_file(
    most: usize,
    body: Body,
) -> Result<Vec<u8>, ReadError> {
    read_at_most(most, body, &mut Reservation::default(), 0).await
}

/// Why JSON was not parsed.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::cluster::client) enum ParseError {
    TooLarge,
    /// It is not JSON. The message of the parser may quote secrets.
    Invalid,
}

impl ParseError {
    /// The error of a request.
    pub(in crate::cluster::client) fn of(&self, what: &RequestInfo) -> Error {
        match self {
            ParseError::TooLarge => Error::too_large(what),
            // A response may hold secrets, so none of it is shown.
            ParseError::Invalid => Error::InvalidResponse {
                what: what.clone(),
                message: "it is not JSON".to_owned(),
            },
        }
    }
}

/// Bytes that the values of JSON take at most once they are parsed, without parsing it.
pub(super) fn parsed_size(json: &[u8]) -> usize {
    let (mut size, mut depth, mut in_text, mut is_escaped) = (0, 0_usize, false, false);
    for byte in json {
        // The parser gives up here.
        if depth > MAX_DEPTH {
            break;
        }
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = in_text,
            b'"' => {
                in_text = !in_text;
                size += TEXT_SIZE / 2;
            }
            b',' if !in_text => size += ITEM_SIZE,
            b'[' if !in_text => {
                size += 2 * ITEM_SIZE;
                depth += 1;
            }
            b'{' if !in_text => {
                size += OBJECT_SIZE + ITEM_SIZE;
                depth += 1;
            }
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    size + json.len()
}

/// Bytes that an object takes with its first field, and each further item of a list or an object, besides their texts.
const OBJECT_SIZE: usize = 700;
const ITEM_SIZE: usize = 120;
/// The limit of `serde_json`.
const MAX_DEPTH: usize = 128;
/// Bytes that a text takes besides its letters.
const TEXT_SIZE: usize = 16;

/// Parses JSON whose values take at most `left` bytes, and subtracts them. `managedFields` are left out: they are about
/// half of an object, and nothing uses them.
pub(super) fn parse(json: &[u8], left: &mut usize) -> Result<Value, ParseError> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let mut is_exceeded = false;
    let seed = MeasuredValue {
        left,
        is_exceeded: &mut is_exceeded,
    };
    let value = seed
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value));
    value.map_err(|_| match is_exceeded {
        true => ParseError::TooLarge,
        false => ParseError::Invalid,
    })
}

/// A JSON value whose size in memory is limited.
struct MeasuredValue<'a> {
    left: &'a mut usize,
    is_exceeded: &'a mut bool,
}

impl MeasuredValue<'_> {
    fn item(&mut self) -> MeasuredValue<'_> {
        MeasuredValue {
            left: self.left,
            is_exceeded: self.is_exceeded,
        }
    }

    fn take<E: de::Error>(&mut self, size: usize) -> Result<(), E> {
        match self.left.checked_sub(size) {
            Some(left) => {
                *self.left = left;
                Ok(())
            }
            None => {
                *self.is_exceeded = true;
                Err(E::custom("too large"))
            }
        }
    }
}

impl<'de> DeserializeSeed<'de> for MeasuredValue<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for MeasuredValue<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, it: bool) -> Result<Value, E> {
        Ok(Value::Bool(it))
    }

    fn visit_i64<E>(self, it: i64) -> Result<Value, E> {
        Ok(Value::from(it))
    }

    fn visit_u64<E>(self, it: u64) -> Result<Value, E> {
        Ok(Value::from(it))
    }

    fn visit_f64<E>(self, it: f64) -> Result<Value, E> {
        Ok(Number::from_f64(it).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: de::Error>(mut self, it: &str) -> Result<Value, E> {
        self.take(it.len() + TEXT_SIZE)?;
        Ok(Value::from(it))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        self.take(ITEM_SIZE)?;
        while let Some(item) = items.next_element_seed(self.item())? {
            self.take(ITEM_SIZE)?;
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        self.take(OBJECT_SIZE)?;
        while let Some(name) = fields.next_key::<String>()? {
            if name == "managedFields" {
                fields.next_value::<de::IgnoredAny>()?;
                continue;
            }
            self.take(ITEM_SIZE + TEXT_SIZE + name.len())?;
            let value = fields.next_value_seed(self.item())?;
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parsed(json: &str, mut left: usize) -> (Result<Value, ParseError>, usize) {
        let before = left;
        let value = parse(json.as_bytes(), &mut left);
        (value, before - left)
    }

    #[test]
    fn json_is_parsed_without_managed_fields() {
        let text = r#"{"metadata": {"managedFields": [{"a": 1}], "name": "x"}, "n": [null, true, -1, 1.5]}"#;
        let expected = json!({ "metadata": { "name": "x" }, "n": [null, true, -1, 1.5] });
        assert_eq!(parsed(text, 1 << 20).0, Ok(expected));
    }

    #[test]
    fn numbers_are_as_serde_json_reads_them() {
        let largest = u64::MAX.to_string();
        let smallest = i64::MIN.to_string();
        for text in ["0", "-0", "1e300", "0.1", &largest, &smallest] {
            let expected: Value = serde_json::from_str(text).unwrap();
            assert_eq!(parsed(text, 0).0, Ok(expected), "{text}");
        }
    }

    #[test]
    fn values_that_take_much_memory_are_told_apart_from_invalid_json() {
        let many = format!("[{}0]", "{\"\":0},".repeat(1000));
        assert_eq!(parsed(&many, 800_000).0, Err(ParseError::TooLarge));
        assert_eq!(parsed("\"xxxx\"", 19).0, Err(ParseError::TooLarge));
        for text in ["[1, 2", "[1] 2", "1e999", "", &"[".repeat(1000)] {
            assert_eq!(parsed(text, 1 << 20).0, Err(ParseError::Invalid), "{text}");
        }
    }

    #[test]
    fn the_size_is_estimated_before_it_is_known() {
        for text in [
            r#"{"a": {"b": "c\"d"}, "e": [{}, {"f": null}, [[]], "", "x"]}"#,
            "[1, 2, 3, \"[{,\"]",
            "{}",
        ] {
            let (value, size) = parsed(text, 1 << 20);
            assert!(value.is_ok() && size > 0, "{text}");
            assert!(parsed_size(text.as_bytes()) >= size, "{text}");
        }
    }

    #[test]
    fn no_fuzzed_response_causes_a_panic_or_a_hang() {
        let list = r#"{"metadata": {"resourceVersion": "7", "continue": "a"}, "items": [{"metadata": {"name": "\u00fc", "managedFields": [{"a": [1.5e3, -1, true, null]}]}}]}"#;
        let status = r#"{"kind": "Status", "code": 403, "reason": "Forbidden", "message": "no\nway", "details": {"retryAfterSeconds": 3}}"#;
        let event =
            r#"{"type": "ADDED", "object": {"metadata": {"name": "a", "resourceVersion": "8"}}}"#;
        crate::fuzz::fuzz(&[list, status, event].map(str::as_bytes), |text, round| {
            let mut left = 4_000;
            let parsed = parse(text, &mut left);
            let size = 4_000 - left;
            assert!(
                parsed.is_err() || parsed_size(text) >= size,
                "round {round}"
            );
            let expected = serde_json::from_slice::<Value>(text);
            // Texts in what is left out are not decoded, so they may not be Unicode.
            let leaves_out = || String::from_utf8_lossy(text).contains("managedFields");
            let has_syntax = || serde_json::from_slice::<de::IgnoredAny>(text).is_ok();
            let is_same = match &parsed {
                Ok(_) => expected.is_ok() || (leaves_out() && has_syntax()),
                Err(ParseError::Invalid) => expected.is_err(),
                Err(ParseError::TooLarge) => true,
            };
            assert!(is_same, "round {round}: {parsed:?} {expected:?}");
            if let Ok(status) = serde_json::from_slice(text) {
                let error = Error::from_status(RequestInfo::get("it"), "server", &status);
                let _ = (error.to_string(), error.retryability());
            }
        });
    }

    #[tokio::test]
    async fn memory_is_free_again_when_a_response_is_dropped() {
        let mut memory = Reservation::of(Box::leak(Box::new(Semaphore::new(96))));
        memory.grow(10 << 20).await.unwrap();
        assert_eq!(memory.units, 9);
        memory.shrink(3 << 20);
        assert_eq!(memory.units, 2);
        assert_eq!(
            memory.permit.as_ref().map(SemaphorePermit::num_permits),
            Some(2)
        );
        memory.grow(2 << 20).await.unwrap();
        assert_eq!(memory.units, 2);
    }

    #[tokio::test(start_paused = true)]
    async fn responses_that_wait_for_each_other_are_too_large() {
        // Other tests use the memory of the process.
        let memory: &Semaphore = Box::leak(Box::new(Semaphore::new(96)));
        let (mut one, mut other) = (Reservation::of(memory), Reservation::of(memory));
        one.grow(60 << 20).await.unwrap();
        assert!(other.grow(60 << 20).await.is_err());
        drop(one);
        other.grow(60 << 20).await.unwrap();
    }
}
