//! What a valid shoot comes to in this provider cluster: hashes, names and sizes.

mod image_volumes;
pub(crate) mod instancetypes;
mod networks;
mod pool;
pub(crate) mod volumes;
mod worker_config;

pub(crate) use image_volumes::{Golden, disks, golden};
pub(crate) use networks::{Attachment, attachments, config_hash};
pub(crate) use pool::{pool_hash, pool_metadata, size};
