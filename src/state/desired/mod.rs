//! Hashes, names and sizes of a valid shoot in this provider cluster.

mod image_volumes;
pub(crate) mod instancetypes;
mod networks;
mod pool;
pub(crate) mod volumes;
mod worker_config;

pub(crate) use image_volumes::{ImageVolume, disks, image_volume};
pub(crate) use networks::{NetworkAttachment, attachments, config_hash};
pub(crate) use pool::{pool_hash, pool_metadata, size, size_within};
