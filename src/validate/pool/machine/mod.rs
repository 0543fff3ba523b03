//! The machines of a pool: their type, architecture and image.

pub(crate) mod architecture;
pub(super) mod fit;
pub(crate) mod image;
pub(super) mod machine_type;
