//! Writes docs/reproduction.md from a finished run of `dupack papers`.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use dupack_build::{cargo, root};

#[derive(Args)]
pub struct ReproduceArgs {
    /// Use the folder of a finished `dupack papers`, instead of repeating every paper
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
}

const PAGE: &str = "docs/reproduction.md";
const FIGURES: &str = "docs/reproduction";

/// Maximum total size of the figures, in bytes. The largest figures are left out.
const FIGURES_BYTES_MAX: u64 = 3_000_000;

pub fn run(args: &ReproduceArgs) -> Result<(), String> {
    let root = root();
    let folder = match &args.from {
        Some(folder) => folder.clone(),
        None => rerun(root)?,
    };
    write(root, &folder)
}

/// Repeats the experiments of every paper at full scale, in a new folder.
fn rerun(root: &Path) -> Result<PathBuf, String> {
    let mut folders = (1..).map(|n: u32| root.join(format!("target/reproduction-{n}")));
    let folder = folders
        .find(|folder| !folder.exists())
        .ok_or("all folder names are taken")?;
    let name = folder.display().to_string();
    let args = [
        "run",
        "--release",
        "--package",
        "dupack-cli",
        "--",
        "papers",
        "--readings",
    ];
    cargo(&[&args[..], &["--out", &name]].concat()).map_err(|e| {
        format!(
            "{e}; what is done is kept: go on with `dupack papers --resume {name}`, then \
             `cargo measure reproduce --from {name}`"
        )
    })?;
    Ok(folder)
}

/// A figure of the page.
struct Figure {
    /// Link target in the page: `<paper>/figures/<name>.svg`.
    link: String,
    bytes: u64,
}

fn write(root: &Path, folder: &Path) -> Result<(), String> {
    let path = folder.join("reproduction.md");
    let page = fs::read_to_string(&path)
        .map_err(|e| format!("{}: {e}: expected a finished folder", path.display()))?;
    if page.contains("campaign was interrupted: ") || !page.contains("runs at full scale") {
        let name = folder.display();
        return Err(format!(
            "{name} does not contain a finished rerun at full scale"
        ));
    }
    let figures = figures(folder, &page)?;
    let target = root.join(FIGURES);
    if target.exists() {
        fs::remove_dir_all(&target).map_err(|e| format!("cannot clear {FIGURES}: {e}"))?;
    }
    let kept = kept(&figures);
    for figure in kept.iter().map(|&index| &figures[index]) {
        let to = target.join(short(&figure.link));
        let parent = to.parent().ok_or("the figure has no folder")?;
        fs::create_dir_all(parent)
            .and_then(|()| fs::copy(folder.join(&figure.link), &to))
            .map_err(|e| format!("cannot copy {}: {e}", figure.link))?;
    }
    let text = linked(&page, &figures, &kept);
    fs::write(root.join(PAGE), text).map_err(|e| format!("cannot write {PAGE}: {e}"))?;
    let left = figures.len() - kept.len();
    eprintln!(
        "wrote {PAGE} with {} figures; {left} were too large",
        kept.len()
    );
    Ok(())
}

/// Returns the figures to which the page links, in order.
fn figures(folder: &Path, page: &str) -> Result<Vec<Figure>, String> {
    let lines = page.lines().filter(|line| line.starts_with("!["));
    let links = lines.filter_map(|line| line.rsplit_once("](")?.1.strip_suffix(')'));
    links
        .map(|link| {
            let file = fs::metadata(folder.join(link)).map_err(|e| format!("{link}: {e}"))?;
            Ok(Figure {
                link: link.to_owned(),
                bytes: file.len(),
            })
        })
        .collect()
}

/// Returns the indices of the figures to keep. The largest figures are left out until the total size is within the
/// limit.
fn kept(figures: &[Figure]) -> Vec<usize> {
    let mut by_size: Vec<usize> = (0..figures.len()).collect();
    by_size.sort_by_key(|&index| figures[index].bytes);
    let mut total = 0;
    by_size.retain(|&index| {
        total += figures[index].bytes;
        total <= FIGURES_BYTES_MAX
    });
    by_size
}

/// Returns the page with links to the new paths of the figures. Links to figures that are left out become text.
fn linked(page: &str, figures: &[Figure], kept: &[usize]) -> String {
    let mut text = page.to_owned();
    for (index, Figure { link, .. }) in figures.iter().enumerate() {
        if kept.contains(&index) {
            let folder = FIGURES.rsplit('/').next().unwrap_or(FIGURES);
            let new = format!("]({folder}/{})", short(link));
            text = text.replace(&format!("]({link})"), &new);
        } else {
            let lines = text
                .lines()
                .map(|line| match line.ends_with(&format!("]({link})")) {
                    true => format!("(Figure `{link}` of the command's output.)\n"),
                    false => format!("{line}\n"),
                });
            text = lines.collect();
        }
    }
    text
}

/// Shortens `momentary/figures/x.svg` to `momentary/x.svg`.
fn short(link: &str) -> String {
    link.replace("/figures/", "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_figures_are_left_out_and_named() {
        let figure = |link: &str, bytes| Figure {
            link: link.to_owned(),
            bytes,
        };
        let figures = [
            figure("a/figures/x.svg", FIGURES_BYTES_MAX),
            figure("a/figures/y.svg", 1),
        ];
        let kept = kept(&figures);
        assert_eq!(kept, [1]);
        let page = "![x](a/figures/x.svg)\n\n![y](a/figures/y.svg)\n";
        let text = linked(page, &figures, &kept);
        assert_eq!(
            text,
            "(Figure `a/figures/x.svg` of the command's output.)\n\n![y](reproduction/a/y.svg)\n"
        );
    }
}
