//! Arguments of `kvshoot scale`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::lifecycle::scale::{self, ScaleOptions};
use crate::commands::arguments::RunFlags;

/// Change the number of machines of pools
///
/// A size has to be within minimum and maximum of the pool. It is kept in the record of the shoot: a later apply does not
/// change it, unless the bounds of the manifest exclude it. Machines that are removed are drained first.
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct ScaleArgs {
    /// Name of the shoot
    name: String,
    /// Name of a pool, and its number of machines
    #[arg(required = true, value_name = "POOL=N", value_parser = parse_size)]
    sizes: Vec<(String, usize)>,
    #[command(flatten)]
    run: RunFlags,
}

pub(in crate::commands) fn run(args: &ScaleArgs, context: &Context) -> Result<Exit, CommandError> {
    let mut options = ScaleOptions {
        name: args.name.clone(),
        sizes: Default::default(),
        run: args.run.options(),
    };
    for (pool, size) in &args.sizes {
        if options.sizes.insert(pool.clone(), *size).is_some() {
            let message = format!("pool {pool:?} is given more than once");
            return Err(CommandError::new(Exit::Usage, message));
        }
    }
    scale::scale(&options, context)
}

fn parse_size(text: &str) -> Result<(String, usize), String> {
    let (pool, size) = text
        .split_once('=')
        .filter(|it| !it.0.is_empty())
        .ok_or("write a pool and its number of machines, for example worker=3")?;
    let size = size
        .parse()
        .map_err(|_| format!("{size:?} is not a number of machines"))?;
    Ok((pool.to_owned(), size))
}
