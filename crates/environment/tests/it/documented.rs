//! Tests that docs/environments.md describes every feature in the same way as the code.

use std::path::Path;

use dupack_environment::{Action, Feature, Observation, Reward, Settings};

#[test]
fn every_feature_and_preset_is_in_the_page() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/environments.md");
    let page = std::fs::read_to_string(page).unwrap();
    for feature in Feature::ALL {
        let told = feature.description();
        let line = format!(
            "| `{}` | {} | {} | {} to {} |",
            told.name, told.unit, told.meaning, told.low, told.high
        );
        assert!(
            page.contains(&line),
            "docs/environments.md lacks the line\n{line}"
        );
    }
    let presets = [
        Observation::presets(),
        Action::presets(),
        Reward::presets(),
        Settings::presets(),
    ];
    for name in presets.concat() {
        assert!(page.contains(&format!("`\"{name}\"`")), "{name}");
    }
}
