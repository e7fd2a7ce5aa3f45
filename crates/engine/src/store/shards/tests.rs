//! Tests that only the same command resumes the folder of a shard, and that a finished shard stays finished.

use dupack_algorithms::catalog::Catalog;
use dupack_lab::run::{Interrupt, Plan};

use std::fs;

use miette::Diagnostic;

use super::*;
use crate::execution::Execution;
use crate::folder::IfPresent;
use crate::set::Conduct;
use crate::split::Split;

const TEXT: &str =
    "stacks = [\"sack/reno\"]\nseeds = 4\nduration = \"1s\"\n[path]\nrate = \"1Mbit/s\"\n";

struct Case {
    base: PathBuf,
    plan: Plan,
    source: Source,
}

impl Case {
    fn new(name: &str, text: &str) -> Self {
        let base = std::env::temp_dir().join(format!("dupack-shard-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&base);
        let source = Source::new("test.toml", text);
        let plan = Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap();
        Self { base, plan, source }
    }

    fn shard(text: &str) -> Shard {
        text.parse().unwrap()
    }

    fn identity(&self, shard: &str) -> Identity {
        let shard = Self::shard(shard);
        let split = Split::of_plan(&self.plan, shard.of(), &self.source).unwrap();
        Identity::new(shard, &split, "test", Harm::LeftOut)
    }

    /// Starts and performs the shard in a folder with this name. Returns the path of the folder.
    fn finished(&self, name: &str, shard: &str) -> PathBuf {
        let path = self.base.join(name);
        let folder = OutputFolder::create(&path, IfPresent::Refuse).unwrap();
        let begun = BegunShard::new(folder, self.identity(shard), &self.source).unwrap();
        let of = begun.store.identity.shard.of();
        let split = Split::of_plan(&self.plan, of, &self.source).unwrap();
        let share = split.share(begun.store.identity.shard);
        let done = share.execute(
            Arc::clone(&begun.journal),
            &Conduct {
                execution: Execution::default(),
                watch: &(),
                interrupt: &Interrupt::new(),
            },
        );
        assert_eq!(done.unwrap(), share.runs());
        begun.finish(&share).unwrap();
        path
    }

    fn experiment(&self) -> Experiment {
        self.source.parse().unwrap()
    }
}

impl Drop for Case {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.base);
    }
}

#[test]
fn a_finished_shard_is_marked_with_its_identity() {
    let case = Case::new("finished", TEXT);
    let path = case.finished("a", "1/2");
    let found = ShardFolder::read(&path).unwrap();
    assert!(found.is_finished() && ShardFolder::is_at(&path));
    assert_eq!(found.identity(), &case.identity("1/2"));
    assert_eq!(found.source().unwrap().text, TEXT);
    found
        .check(&case.identity("1/2"), &case.experiment())
        .unwrap();
    found.runs().unwrap();
    // A shard without runs is also finished. Such shards exist if there are more shards than runs.
    let empty = case.finished("empty", "9/9");
    assert!(ShardFolder::read(&empty).unwrap().is_finished());
}

#[test]
fn only_the_same_shard_of_the_same_experiment_is_resumed() {
    let case = Case::new("other", TEXT);
    let path = case.finished("a", "1/2");
    let found = ShardFolder::read(&path).unwrap();
    let other = Case::new("other-seeds", &TEXT.replace("seeds = 4", "seeds = 5"));
    let mut measured = case.identity("1/2");
    measured.harm = Harm::Measured;
    let mut newer = case.identity("1/2");
    newer.engine = "9.9.9 x".to_owned();
    for (identity, experiment, says) in [
        (
            case.identity("2/2"),
            case.experiment(),
            "the shard is 2/2, and was 1/2",
        ),
        (case.identity("1/3"), case.experiment(), "the shard is 1/3"),
        (
            other.identity("1/2"),
            other.experiment(),
            "seeds is 5, and was 4",
        ),
        (
            measured,
            case.experiment(),
            "harm is measured, and was left out",
        ),
        (newer, case.experiment(), "the engine is 9.9.9 x"),
    ] {
        let error = found.check(&identity, &experiment).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
        assert!(error.help().is_some());
    }
}

#[test]
fn the_same_command_resumes_after_an_end_at_any_time() {
    let case = Case::new("ended", TEXT);
    let path = case.base.join("a");
    let folder = OutputFolder::create(&path, IfPresent::Refuse).unwrap();
    let begun = BegunShard::new(folder, case.identity("1/2"), &case.source).unwrap();
    let split = Split::of_plan(&case.plan, 2, &case.source).unwrap();
    let share = split.share(Case::shard("1/2"));
    let error = begun.finish(&share).unwrap_err().to_string();
    assert!(
        error.contains("2 finished run(s) could not be kept"),
        "{error}"
    );
    assert!(!ShardFolder::read(&path).unwrap().is_finished());
    for file in [JOURNAL, EXPERIMENT] {
        fs::remove_file(path.join(file)).unwrap();
        let found = ShardFolder::read(&path).unwrap();
        found
            .check(&case.identity("1/2"), &case.experiment())
            .unwrap();
        let begun = BegunShard::again(&found, &case.source).unwrap();
        assert!(path.join(EXPERIMENT).is_file() && path.join(JOURNAL).is_file());
        drop(begun);
    }
}

#[test]
fn changes_of_a_finished_shard_are_reported_with_their_line() {
    let case = Case::new("changed", TEXT);
    let path = case.finished("a", "1/1");
    let journal = path.join(JOURNAL);
    let text = fs::read_to_string(&journal).unwrap();
    let third = text.lines().nth(2).unwrap();
    for (changed, says) in [
        (
            text.replace(third, &third[..third.len() / 2]),
            "line 3 is unreadable",
        ),
        (
            text.replacen("\"seed\":2", "\"seed\":7", 1),
            "has changed since shard 1/1 was finished",
        ),
        (text[..text.len() - 5].to_owned(), "line 5 is unreadable"),
        (String::new(), "has changed since shard 1/1"),
    ] {
        fs::write(&journal, changed).unwrap();
        let error = ShardFolder::read(&path).unwrap().runs().unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
        assert!(error.help().is_some());
    }
}

#[test]
fn damaged_marks_are_errors() {
    let case = Case::new("damaged", TEXT);
    let path = case.finished("a", "1/2");
    let error = |path: &Path| ShardFolder::read(path).unwrap_err().to_string();
    assert!(error(&case.base).contains("not the folder of a shard"));
    for (file, text, says) in [
        (
            FINISHED,
            "{\"shard\":\"2/2\",\"runs\":1,\"journal\":\"0\"}",
            "names shard 2/2",
        ),
        (FINISHED, "", "cannot use"),
        (
            "shard.json",
            "{\"shard\":\"0/2\"}",
            "the shards are 1/2 to 2/2",
        ),
        ("shard.json", "nonsense", "cannot use"),
    ] {
        fs::write(path.join(file), text).unwrap();
        assert!(error(&path).contains(says), "{}", error(&path));
    }
}

#[test]
fn folders_of_one_experiment_are_gathered_and_others_are_refused() {
    let case = Case::new("gathered", TEXT);
    let other = Case::new("gathered-other", &TEXT.replace("seeds = 4", "seeds = 5"));
    let (a, b) = (case.finished("a", "1/2"), case.finished("b", "2/2"));
    let strange = other.finished("c", "2/2");
    let many = case.finished("d", "3/3");
    let gathered = Gathered::of(&[b.clone(), a.clone(), b.clone(), b.join(".")]).unwrap();
    assert_eq!(gathered.first().path(), a);
    assert_eq!(gathered.journals().unwrap().len(), 2);
    let error = |paths: &[&PathBuf]| {
        let paths: Vec<PathBuf> = paths.iter().map(|path| (*path).clone()).collect();
        Gathered::of(&paths).unwrap_err().to_string()
    };
    let words = error(&[&strange, &a]);
    assert!(words.contains("seeds is 5, and was 4 there"), "{words}");
    for path in [&strange, &a] {
        assert!(words.contains(&path.display().to_string()), "{words}");
    }
    assert!(error(&[&a, &many]).contains("the number of shards is 3, and was 2"));
    assert!(error(&[]).contains("no folder"));
    // This is the file that another build of dupack would have written.
    let engine = dupack_lab::run::engine();
    let strange = fs::read_to_string(b.join("shard.json")).unwrap();
    fs::write(b.join("shard.json"), strange.replace(&engine, "0.0.1 0")).unwrap();
    assert!(error(&[&a, &b]).contains("the engine is 0.0.1 0, and was "));
    assert!(error(&[&b]).contains("is 0.0.1 0, but this one is"));
}
