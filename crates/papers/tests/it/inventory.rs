//! Checks that every file, test and claim in the inventory of the papers exists.

use std::fs;
use std::path::{Path, PathBuf};

use dupack_papers::PAPERS;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn every_file_test_and_claim_of_the_inventory_is_there() {
    for paper in PAPERS {
        let claims: Vec<String> = paper.book().claims.into_iter().map(|c| c.id).collect();
        let items = paper.inventory().items;
        assert!(!items.is_empty(), "{} has no inventory", paper.key);
        for item in items {
            let of = format!("{}: {}", paper.key, item.what);
            assert!(
                !(item.file.is_empty() && item.note.is_empty()),
                "{of}: neither here nor a reason"
            );
            assert!(
                item.file.is_empty() || root().join(&item.file).is_file(),
                "{of}: no {}",
                item.file
            );
            if let Some((file, name)) = item.test() {
                let text = fs::read_to_string(root().join(file));
                let text = text.unwrap_or_else(|e| panic!("{of}: {file}: {e}"));
                let there = name.is_none_or(|name| text.contains(&format!("fn {name}(")));
                assert!(there, "{of}: no {} in {file}", name.unwrap_or_default());
            } else {
                let told = item.file.is_empty() || !item.claims.is_empty() || !item.note.is_empty();
                assert!(told, "{of}: nothing shows it");
            }
            for claim in &item.claims {
                assert!(claims.contains(claim), "{of}: no claim `{claim}`");
            }
        }
    }
}

#[test]
fn the_page_of_the_inventory_is_up_to_date() {
    let page = fs::read_to_string(root().join("docs/inventory.md")).unwrap_or_default();
    assert!(
        page == dupack_papers::inventory(),
        "make it anew: cargo run -p dupack-cli -- papers --inventory > docs/inventory.md"
    );
}
