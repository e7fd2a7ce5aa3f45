//! Writes the pages in docs/reproduction and the conclusions from a finished run of `dupack papers`.

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

/// Folder of the pages, in the repository.
const TARGET: &str = "docs/reproduction";

/// Folder of the pages, in the folder of a rerun.
const PAGES: &str = "pages";

/// File with the conclusions, which `dupack papers` prints.
const CONCLUSIONS: &str = "conclusions.toml";

/// Maximum total size of the figures, in bytes. The largest figures are left out.
const FIGURES_BYTES_MAX: u64 = 4_000_000;

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
        "all",
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

/// A figure of a page.
struct Figure {
    /// Link target in the page: `../<paper>/figures/<name>.svg`.
    link: String,
    bytes: u64,
}

fn write(root: &Path, folder: &Path) -> Result<(), String> {
    let pages = pages(folder)?;
    let texts = pages.iter().map(|(_, text)| text.as_str());
    let all = texts.collect::<Vec<_>>().join("\n");
    if all.contains("campaign was interrupted: ") || !all.contains("at full scale") {
        let name = folder.display();
        return Err(format!(
            "{name} does not contain a finished rerun at full scale"
        ));
    }
    let figures = figures(&folder.join(PAGES), &all)?;
    let target = root.join(TARGET);
    if target.exists() {
        fs::remove_dir_all(&target).map_err(|e| format!("cannot clear {TARGET}: {e}"))?;
    }
    let kept = kept(&figures);
    for figure in kept.iter().map(|&index| &figures[index]) {
        let to = target.join(short(&figure.link));
        let parent = to.parent().ok_or("the figure has no folder")?;
        fs::create_dir_all(parent)
            .and_then(|()| fs::copy(folder.join(PAGES).join(&figure.link), &to))
            .map_err(|e| format!("cannot copy {}: {e}", figure.link))?;
    }
    for (name, text) in &pages {
        let to = target.join(name);
        fs::write(&to, linked(text, &figures, &kept))
            .map_err(|e| format!("cannot write {}: {e}", to.display()))?;
    }
    let from = folder.join(PAGES).join(CONCLUSIONS);
    fs::copy(&from, root.join("experiments/papers").join(CONCLUSIONS))
        .map_err(|e| format!("cannot copy {}: {e}", from.display()))?;
    let left = figures.len() - kept.len();
    eprintln!(
        "wrote {} pages to {TARGET} with {} figures; {left} were too large",
        pages.len(),
        kept.len()
    );
    Ok(())
}

/// Returns the pages in the folder of a finished rerun, each with its name, in the order of the names.
fn pages(folder: &Path) -> Result<Vec<(String, String)>, String> {
    let folder = folder.join(PAGES);
    let failed =
        |e: std::io::Error| format!("{}: {e}: expected a finished folder", folder.display());
    let entries = fs::read_dir(&folder).map_err(failed)?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".md"))
        .collect();
    names.sort();
    let pages = names.into_iter().map(|name| {
        let text = fs::read_to_string(folder.join(&name)).map_err(failed)?;
        Ok((name, text))
    });
    pages.collect()
}

/// Returns the figures to which the pages link, in order.
fn figures(folder: &Path, text: &str) -> Result<Vec<Figure>, String> {
    let lines = text.lines().filter(|line| line.starts_with("!["));
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

/// Returns a page with links to the new paths of the figures. Links to figures that are left out become text.
fn linked(page: &str, figures: &[Figure], kept: &[usize]) -> String {
    let mut text = page.to_owned();
    for (index, Figure { link, .. }) in figures.iter().enumerate() {
        if kept.contains(&index) {
            text = text.replace(&format!("]({link})"), &format!("]({})", short(link)));
        } else {
            let lines = text
                .lines()
                .map(|line| match line.ends_with(&format!("]({link})")) {
                    true => format!("(Figure `{}` of the command's output.)\n", &link[3..]),
                    false => format!("{line}\n"),
                });
            text = lines.collect();
        }
    }
    text
}

/// Shortens `../momentary/figures/x.svg` to `momentary/x.svg`.
fn short(link: &str) -> String {
    link.trim_start_matches("../").replace("/figures/", "/")
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
            figure("../a/figures/x.svg", FIGURES_BYTES_MAX),
            figure("../a/figures/y.svg", 1),
        ];
        let kept = kept(&figures);
        assert_eq!(kept, [1]);
        let page = "![x](../a/figures/x.svg)\n\n![y](../a/figures/y.svg)\n";
        let text = linked(page, &figures, &kept);
        assert_eq!(
            text,
            "(Figure `a/figures/x.svg` of the command's output.)\n\n![y](a/y.svg)\n"
        );
    }
}
