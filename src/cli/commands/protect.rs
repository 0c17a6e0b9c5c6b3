//! `dupescan protect`: folders that no plan ever touches.

use crate::answers::resolve;
use crate::cli::args::ProtectArgs;
use crate::cli::session::Context;
use crate::cli::terminal::{Exit, exit, output};
use crate::model::escape;

pub(crate) fn run(context: &Context, args: &ProtectArgs) -> anyhow::Result<Exit> {
    let Some(typed) = &args.path else {
        let folders = context.catalog()?.protected()?;
        let lines = folders.iter().map(|folder| escape(folder) + "\n");
        output::print(lines.collect::<String>())?;
        return Ok(Exit::Done);
    };
    let path = resolve(typed)?;
    if !args.remove && !path.is_dir() {
        return Err(exit::usage(format_args!(
            "{} is not a folder",
            typed.display()
        )));
    }
    let mut catalog = context.exclusive("protect")?;
    let sentence = match args.remove {
        false if catalog.protect(&path)? => "is protected now",
        false => "is protected already",
        true if catalog.unprotect(&path)? => "is no longer protected",
        true => {
            return Err(exit::usage(format_args!(
                "{} is not protected",
                typed.display()
            )));
        }
    };
    output::print(format!("{} {sentence}\n", escape(&path)))?;
    Ok(Exit::Done)
}
