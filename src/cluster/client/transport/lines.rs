//! The lines of a response that has no end, within limits.

use super::response::{ParseError, ReadError, Reservation, TooLarge, parse, parsed_size};
use http_body_util::BodyExt as _;
use kube::client::Body;
use serde_json::Value;
use tokio_util::bytes::Bytes;

/// The most bytes of a line, as text and in memory once it is parsed.
const MAX_LINE: usize = 4 << 20;
const MAX_PARSED: usize = 16 << 20;

/// The lines of a body. Several bodies are read at the same time, so that all that is held of them is reserved.
pub(in crate::cluster::client) struct Lines<B = Body> {
    body: B,
    /// Bytes that were received.
    buffer: Vec<u8>,
    /// Where the next line begins.
    start: usize,
    memory: Reservation,
}

impl<B: http_body::Body<Data = Bytes, Error = kube::Error> + Unpin> Lines<B> {
    pub(in crate::cluster::client) fn new(body: B) -> Lines<B> {
        Lines {
            body,
            buffer: Vec::new(),
            start: 0,
            memory: Reservation::default(),
        }
    }

    /// Returns the next line, or `None` at the end. What was made of the line before must not be held any longer.
    pub(in crate::cluster::client) async fn next(&mut self) -> Option<Result<Vec<u8>, ReadError>> {
        self.memory.shrink(self.buffer.len());
        let mut searched = self.start;
        loop {
            let end = self.buffer[searched..].iter().position(|it| *it == b'\n');
            if let Some(end) = end.map(|it| searched + it) {
                let line = self.buffer[self.start..end].to_vec();
                self.start = end + 1;
                return Some(Ok(line));
            }
            // Only here, as there may be many lines.
            self.buffer.drain(..self.start);
            self.start = 0;
            searched = self.buffer.len();
            match self.body.frame().await {
                None if self.buffer.is_empty() => return None,
                None => return Some(Ok(std::mem::take(&mut self.buffer))),
                Some(Err(error)) => return Some(Err(ReadError::Failed(error))),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data()
                        && let Err(TooLarge) = self.append(&data).await
                    {
                        return Some(Err(ReadError::TooLarge));
                    }
                }
            }
        }
    }

    async fn append(&mut self, data: &[u8]) -> Result<(), TooLarge> {
        if self.buffer.len() > MAX_LINE {
            return Err(TooLarge);
        }
        // A line is copied when it is complete.
        let length = self.buffer.len() + data.len();
        self.memory.grow(2 * length).await?;
        self.buffer.extend_from_slice(data);
        Ok(())
    }

    /// Parses a line as JSON.
    pub(in crate::cluster::client) async fn parse(
        &mut self,
        line: &[u8],
    ) -> Result<Value, ParseError> {
        let parsed = parsed_size(line).min(MAX_PARSED);
        let size = self.buffer.len() + line.len() + parsed;
        let reserved = self.memory.grow(size).await;
        reserved.map_err(|TooLarge| ParseError::TooLarge)?;
        let mut left = MAX_PARSED;
        parse(line, &mut left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz::cpu_time;
    use futures::stream;
    use http_body::Frame;
    use http_body_util::StreamBody;
    use std::time::Duration;

    type Frames = stream::Iter<std::vec::IntoIter<Result<Frame<Bytes>, kube::Error>>>;

    fn lines(frames: Vec<Vec<u8>>) -> Lines<StreamBody<Frames>> {
        let frames = frames.into_iter().map(|it| Ok(Frame::data(it.into())));
        let frames: Vec<Result<Frame<Bytes>, kube::Error>> = frames.collect();
        Lines::new(StreamBody::new(stream::iter(frames)))
    }

    async fn all(mut lines: Lines<StreamBody<Frames>>) -> Result<Vec<String>, &'static str> {
        let mut read = Vec::new();
        while let Some(line) = lines.next().await {
            match line {
                Ok(line) => read.push(String::from_utf8(line).expect("text")),
                Err(ReadError::TooLarge) => return Err("too large"),
                Err(ReadError::Failed(_)) => return Err("failed"),
            }
        }
        Ok(read)
    }

    #[tokio::test]
    async fn lines_do_not_depend_on_the_pieces_of_the_body() {
        let text = b"one\n\ntwo\nthree";
        for size in 1..=text.len() {
            let pieces = text.chunks(size).map(<[u8]>::to_vec).collect();
            let read = all(lines(pieces)).await;
            let expected = ["one", "", "two", "three"].map(str::to_owned);
            assert_eq!(read, Ok(expected.to_vec()), "{size}");
        }
        assert_eq!(
            all(lines(vec![b"one\n".to_vec()])).await,
            Ok(vec!["one".to_owned()])
        );
    }

    #[tokio::test]
    async fn a_line_without_end_is_too_large() {
        let piece = vec![b'x'; 1 << 20];
        assert_eq!(all(lines(vec![piece; 8])).await, Err("too large"));
    }

    /// Moving the rest of the buffer for each line would take a minute.
    #[tokio::test]
    async fn the_time_for_many_lines_grows_with_their_bytes_only() {
        let begun = cpu_time();
        let read = all(lines(vec![vec![b'\n'; 1 << 20]])).await;
        assert_eq!(read.map(|it| it.len()), Ok(1 << 20));
        let time = cpu_time() - begun;
        assert!(time < Duration::from_secs(10), "{time:?}");
    }

    #[tokio::test]
    async fn lines_are_parsed_within_limits() {
        let mut empty = lines(Vec::new());
        assert_eq!(
            empty.parse(b"{\"a\": 1}").await,
            Ok(serde_json::json!({"a": 1}))
        );
        let many = format!("[{}0]", "{\"\":0},".repeat(60_000));
        assert_eq!(
            empty.parse(many.as_bytes()).await,
            Err(ParseError::TooLarge)
        );
        assert_eq!(empty.parse(b"{").await, Err(ParseError::Invalid));
    }
}
