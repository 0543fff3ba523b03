//! Readers that hash, check, encrypt or decrypt what passes through, in memory of a fixed size.

use super::encryption::{Identities, Recipients};
use super::sha256::Sha256Digest;
use super::snapshot_hash::SnapshotHasher;
use age::stream::StreamWriter;
use age::{DecryptError, Decryptor};
use futures::Stream;
use futures::stream::try_unfold;
use std::io::{self, ErrorKind, Write};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncReadExt as _, ReadBuf};
use tokio_util::bytes::Bytes;
use tokio_util::compat::{FuturesAsyncReadCompatExt as _, TokioAsyncReadCompatExt as _};
use tokio_util::io::StreamReader;

/// Plain text that is encrypted at once, a chunk of age.
const CHUNK: usize = 64 << 10;

/// Hashes what is read through it.
#[derive(Debug)]
pub(crate) struct HashingReader<R> {
    inner: R,
    digest: Sha256Digest,
    has_failed: bool,
}

/// Reads an etcd snapshot, with an error in place of its end if its hash does not match.
#[derive(Debug)]
pub(crate) struct SnapshotReader<R> {
    inner: R,
    hasher: SnapshotHasher,
}

impl<R> HashingReader<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self {
            inner,
            digest: Sha256Digest::default(),
            has_failed: false,
        }
    }

    /// Returns whether reading has failed, so that errors of a copy can be distinguished.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed
    }

    pub(crate) fn digest(&self) -> &Sha256Digest {
        &self.digest
    }
}

impl<R> SnapshotReader<R> {
    pub(crate) fn new(inner: R) -> Self {
        let hasher = SnapshotHasher::default();
        Self { inner, hasher }
    }

    pub(crate) fn hasher(&self) -> &SnapshotHasher {
        &self.hasher
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for HashingReader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.inner).poll_read(context, buffer));
        self.has_failed |= read.is_err();
        read?;
        self.digest.update(&buffer.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for SnapshotReader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let is_empty = buffer.remaining() == 0;
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        let read = &buffer.filled()[before..];
        if read.is_empty() && !is_empty {
            let checked = self.hasher.check().map(drop);
            return Poll::Ready(checked.map_err(|it| io::Error::new(ErrorKind::InvalidData, it)));
        }
        self.hasher.update(read);
        Poll::Ready(Ok(()))
    }
}

/// Encrypts a reader.
///
/// # Errors
///
/// A recipient cannot be used.
pub(crate) fn encrypted<R: AsyncRead + Unpin + Send>(
    source: R,
    recipients: &Recipients,
) -> io::Result<impl AsyncRead + Send + Unpin> {
    let chunks = Chunks::default();
    let writer = recipients.encrypt(chunks.clone())?;
    let encryption = Encryption {
        source,
        writer: Some(writer),
        chunks,
    };
    Ok(StreamReader::new(Box::pin(encryption.stream())))
}

/// Decrypts a reader.
///
/// # Errors
///
/// It is not encrypted to one of the identities, or not by age.
pub(crate) async fn decrypted<R: AsyncRead + Unpin + Send>(
    source: R,
    identities: &Identities,
) -> Result<impl AsyncRead + Send + Unpin + use<R>, DecryptError> {
    let source = tokio::io::BufReader::with_capacity(CHUNK, source).compat();
    let decryptor = Decryptor::new_async_buffered(source).await?;
    Ok(decryptor.decrypt_async(identities.iter())?.compat())
}

/// Encrypted bytes that were not taken yet.
#[derive(Debug, Clone, Default)]
struct Chunks(Arc<Mutex<Vec<u8>>>);

struct Encryption<R> {
    source: R,
    /// None after the end.
    writer: Option<StreamWriter<Chunks>>,
    chunks: Chunks,
}

impl<R: AsyncRead + Unpin + Send> Encryption<R> {
    fn stream(self) -> impl Stream<Item = io::Result<Bytes>> + Send {
        try_unfold(self, |mut state| async move {
            let chunk = state.next().await?;
            Ok(chunk.map(|chunk| (chunk, state)))
        })
    }

    /// An error of the source ends the stream with that error, so that a reader never takes a part for the whole.
    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        let mut plain = vec![0; CHUNK];
        while let Some(mut writer) = self.writer.take() {
            let read = self.source.read(&mut plain).await?;
            if read == 0 {
                writer.finish()?;
            } else {
                writer.write_all(&plain[..read])?;
                self.writer = Some(writer);
            }
            let chunk = self.chunks.take();
            if !chunk.is_empty() {
                return Ok(Some(chunk.into()));
            }
        }
        Ok(None)
    }
}

impl Chunks {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Chunks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut chunks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        chunks.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backup::testing::{identity, snapshot};
    use std::iter;

    async fn all(mut reader: impl AsyncRead + Unpin) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).await?;
        Ok(bytes)
    }

    fn keys() -> (Identities, Recipients) {
        let (secret, recipient) = identity();
        let identities = Identities::parse(&secret).unwrap();
        (identities, Recipients::parse(&recipient).unwrap())
    }

    async fn decrypt(bytes: &[u8], identities: &Identities) -> Option<Vec<u8>> {
        let plain = decrypted(bytes, identities).await.ok()?;
        all(plain).await.ok()
    }

    #[tokio::test]
    async fn what_was_encrypted_is_decrypted_by_its_recipient_only() {
        let (identities, recipients) = keys();
        for length in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK] {
            let plain: Vec<u8> = (0..length).map(|it| it as u8).collect();
            let sealed = all(encrypted(&*plain, &recipients).unwrap()).await.unwrap();
            assert_eq!(decrypt(&sealed, &identities).await, Some(plain));
            let (others, _) = keys();
            assert_eq!(decrypt(&sealed, &others).await, None);
        }
    }

    #[tokio::test]
    async fn ciphertext_cut_at_any_byte_or_with_any_flipped_byte_is_refused() {
        let (identities, recipients) = keys();
        let mut sealed = all(encrypted(&b"root keys"[..], &recipients).unwrap())
            .await
            .unwrap();
        for length in 0..sealed.len() {
            assert_eq!(decrypt(&sealed[..length], &identities).await, None);
        }
        for index in 0..sealed.len() {
            sealed[index] ^= 1;
            assert_eq!(decrypt(&sealed, &identities).await, None, "byte {index}");
            sealed[index] ^= 1;
        }
    }

    #[tokio::test]
    async fn an_error_of_the_source_is_an_error_of_the_encryption() {
        let (_, recipients) = keys();
        let parts = iter::once(Ok(Bytes::from_static(b"part")))
            .chain(iter::once(Err(io::Error::other("connection lost"))));
        let source = StreamReader::new(futures::stream::iter(parts));
        let error = all(encrypted(source, &recipients).unwrap())
            .await
            .unwrap_err();
        assert_eq!(error.to_string(), "connection lost");
    }

    #[tokio::test]
    async fn a_snapshot_ends_with_an_error_if_its_hash_does_not_match() {
        let whole = snapshot(4);
        let mut reader = SnapshotReader::new(&*whole);
        assert_eq!(all(&mut reader).await.unwrap(), whole);
        assert!(reader.hasher().check().is_ok());
        let error = all(SnapshotReader::new(&whole[..600])).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
    }

    /// A source that never waits and never ends: memory is bounded only by what encryption takes at once.
    #[tokio::test]
    async fn encryption_takes_one_chunk_at_a_time() {
        let (_, recipients) = keys();
        let source = HashingReader::new(tokio::io::repeat(0));
        let mut encryption = Encryption {
            writer: None,
            source,
            chunks: Chunks::default(),
        };
        encryption.writer = Some(recipients.encrypt(encryption.chunks.clone()).unwrap());
        for chunk in 1..100_u64 {
            let bytes = encryption.next().await.unwrap().unwrap();
            assert!(bytes.len() <= 2 * CHUNK, "{}", bytes.len());
            let ahead = encryption.source.digest().length() - (chunk - 1) * CHUNK as u64;
            assert!(ahead <= 2 * CHUNK as u64, "{ahead}");
        }
    }
}
