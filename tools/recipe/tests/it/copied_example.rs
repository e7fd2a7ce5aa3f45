//! Test that a copy of `examples/own_recovery` outside the workspace is a complete package once its manifest contains
//! the path of dupack.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

#[test]
fn a_copy_of_the_example_is_a_package_of_its_own() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let example = workspace.join("examples/own_recovery");
    let copy = tempfile::tempdir().unwrap();
    let manifest = fs::read_to_string(example.join("Cargo.toml")).unwrap();
    let crates = workspace.join("crates").canonicalize().unwrap();
    let found = manifest.replace("../../crates", &crates.display().to_string());
    assert_ne!(found, manifest);
    fs::write(copy.path().join("Cargo.toml"), found).unwrap();
    fs::create_dir(copy.path().join("src")).unwrap();
    for name in ["main.rs", "majority.rs"] {
        let file = Path::new("src").join(name);
        fs::copy(example.join(&file), copy.path().join(&file)).unwrap();
    }
    // The copy uses the same versions as the workspace, so that cargo needs no registry.
    let lock = workspace.join("Cargo.lock");
    fs::copy(lock, copy.path().join("Cargo.lock")).unwrap();

    let output = Command::new(env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()))
        .args(["tree", "--offline", "--depth", "1", "--prefix", "none"])
        .current_dir(copy.path())
        .output()
        .expect("it can be started");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let text = String::from_utf8_lossy(&output.stdout);
    for name in ["algorithms", "lab", "report", "tcp"] {
        let line = format!("dupack-{name} v");
        assert!(text.contains(&line), "{line} is not in\n{text}");
    }
}
