//! Tests that all of our conformance scripts pass. Each script is written from a clause of an RFC.

use std::path::{Path, PathBuf};

use dupack_script::suite::{play, scripts};
use dupack_script::{Options, ScriptOutcome};

fn ours() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance");
    scripts(&[folder])
}

#[test]
fn all_scripts_pass() {
    let paths = ours();
    assert!(paths.len() >= 60, "{} scripts", paths.len());
    for path in paths {
        let played = play(&path, &Options::default());
        if let ScriptOutcome::Failed(failure) = &played.outcome {
            panic!("{}\n{failure}", path.display());
        }
        assert_eq!(played.outcome, ScriptOutcome::Passed, "{}", path.display());
    }
}

#[test]
fn each_script_names_the_rfc_of_its_folder_and_the_section_of_its_name() {
    for path in ours() {
        let text = std::fs::read_to_string(&path).expect("a script");
        let first = text.lines().next().unwrap_or_default();
        let folder = path.parent().and_then(Path::file_name).expect("a folder");
        let rfc = folder.to_string_lossy().replace("rfc", "RFC ");
        let name = path.file_stem().expect("a name").to_string_lossy();
        let section = name.split('-').next().unwrap_or_default();
        let wanted = format!("// {rfc} §{section}");
        assert!(first.starts_with(&wanted), "{}: {first}", path.display());
    }
}
