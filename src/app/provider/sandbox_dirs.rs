//! Where the programs and the data of sandboxes are.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::sandbox::Dirs;

/// The cache and state directories of the sandbox.
pub(super) fn paths(context: &Context) -> Result<Dirs, CommandError> {
    let (cache, state) = (context.config.cache_dir(), context.config.state_dir());
    let dirs = cache.zip(state).map(|(cache, state)| Dirs {
        cache,
        state,
        path: context.config.path(),
        own: context.config.executable(),
    });
    dirs.ok_or_else(|| {
        let error = CommandError::new(Exit::Precondition, "cannot find the home directory");
        error.hint("set HOME")
    })
}
