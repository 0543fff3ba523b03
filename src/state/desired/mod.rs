//! Hashes, names and sizes of a valid shoot in this provider cluster.

mod image_volumes;
pub(crate) mod instancetypes;
pub(crate) mod machine_content;
mod networks;
mod pool;
mod pool_size;
pub(crate) mod volumes;
mod worker_config;
mod zone_distribution;

pub(crate) use image_volumes::{ImageVolume, disks, image_volume};
pub(crate) use networks::{NetworkAttachment, attachments, config_hash};
pub(crate) use pool::{
    PoolHashes, changed_parts, disks_in_words, expandable_disks, former_pool_hashes, pool_hash,
    pool_hashes, pool_metadata, pool_parts, pool_size, size, zone_targets,
};
pub(crate) use pool_size::{PoolSize, SizesByPool, ZoneSizes, size_within};
pub(crate) use zone_distribution::spread;
