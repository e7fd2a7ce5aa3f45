//! Extracts the algorithm from CONTRIBUTING.md and makes it a module.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../CONTRIBUTING.md");
    println!("cargo::rerun-if-changed={}", page.display());
    let text = fs::read_to_string(&page).expect("CONTRIBUTING.md is in the repository");
    let section = text.split("\n## Add an algorithm\n").nth(1);
    let section = section.expect("CONTRIBUTING.md has no section `Add an algorithm`");
    let block = section.split("```rust\n").nth(1);
    let block = block.and_then(|rest| rest.split_once("```"));
    let (code, _) = block.expect("the section has a block of Rust");
    // The block is part of a list and therefore indented by three spaces.
    let lines = code.trim_end().lines();
    let lines = lines.map(|line| line.strip_prefix("   ").unwrap_or(line));
    let code: Vec<&str> = lines.collect();
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let file = folder.join("half.rs");
    fs::write(&file, code.join("\n") + "\n").expect("the build's folder can be written to");
    let module = format!("#[path = {file:?}]\npub mod half;\n");
    fs::write(folder.join("recipe.rs"), module).expect("the build's folder can be written to");
}
