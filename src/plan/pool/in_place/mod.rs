//! Changes that machines of a pool with `updateStrategy: AutoInPlaceUpdate` follow without a replacement.

pub(super) mod resize;
pub(super) mod roots;
