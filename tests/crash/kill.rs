//! Killed at every boundary, and at random moments.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use super::scene::{KINDS, Scene, Served, clear};
use super::subject::{Random, ended, number, on_all_cores};

/// Documents of the project; `tools/kill-run` takes more.
const DOCUMENTS: u64 = 14;

/// One build that is killed.
#[derive(Debug, Clone)]
enum Kill {
    /// At a boundary: `kill@7`, `torn@7`.
    Boundary(String),
    /// So long after its start.
    After(Duration),
}

/// Runs `kills` on `scene` and prints how they ended; the first fault of each is a failure.
fn run(scene: &Scene, what: &str, kills: &[Kill]) {
    let ended = on_all_cores(kills, |at, kill| {
        let subject = scene.fresh(&format!("{what}-{at}"));
        let killed = die(scene, &subject, kill);
        let served = scene.judge(&subject);
        if served.is_ok() {
            clear(&subject.folder);
        }
        (killed, served)
    });
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut faults = Vec::new();
    for (kill, (killed, served)) in kills.iter().zip(ended) {
        match served {
            Ok(served) => {
                let how = if killed { "killed" } else { "had ended" };
                *counts.entry(format!("{how}, {served:?} served")).or_default() += 1;
            }
            Err(fault) => faults.push(format!("{:?}, {kill:?}: {fault}", scene.kind)),
        }
        if let Kill::Boundary(point) = kill {
            assert!(killed, "{:?}: {point} did not kill", scene.kind);
        }
    }
    println!("{:?} build, {what}: {} runs, {counts:?}", scene.kind, kills.len());
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), kills.len(), faults.join("\n"));
}

/// Builds and kills. Says whether the build died of it.
fn die(scene: &Scene, subject: &super::subject::Subject, kill: &Kill) -> bool {
    let mut command = subject.command(Scene::line(scene.kind));
    match kill {
        Kill::Boundary(point) => ended(command.env("ATLAS_FAILPOINT", point)).code.is_none(),
        Kill::After(time) => {
            let mut child = command.spawn().unwrap();
            thread::sleep(*time);
            // SIGKILL; a child that has ended already is left alone.
            child.kill().unwrap();
            child.wait().unwrap().code().is_none()
        }
    }
}

/// Every boundary in the large run; here one in `step`, from a place that the seed draws, and the last
/// ones, where the commit is.
fn boundaries(scene: &Scene, random: &mut Random, step: usize) -> Vec<Kill> {
    let count = scene.boundaries.len();
    let commit = scene.boundaries.iter().position(|line| line.ends_with("/CURRENT")).unwrap();
    let near = commit.saturating_sub(6)..(commit + 4).min(count);
    let first = random.below(step);
    let chosen = (0..count).filter(|at| at % step == first || near.contains(at));
    chosen
        .flat_map(|at| {
            let kill = Kill::Boundary(format!("kill@{}", at + 1));
            let is_write = scene.boundaries[at].contains(" Write ");
            let torn = is_write.then(|| Kill::Boundary(format!("torn@{}", at + 1)));
            torn.into_iter().chain([kill])
        })
        .collect()
}

#[test]
fn a_build_killed_at_any_boundary_leaves_a_whole_index() {
    if !cfg!(debug_assertions) {
        println!("skipped: there are no failpoints without debug assertions");
        return;
    }
    let seed = number("ATLAS_SEED", 1);
    let step = number("ATLAS_BOUNDARY_STEP", 12) as usize;
    let mut random = Random(seed);
    for kind in KINDS {
        let scene = Scene::set(kind, number("ATLAS_DOCUMENTS", DOCUMENTS) as usize);
        let kills = boundaries(&scene, &mut random, step);
        println!("seed {seed}: {} boundaries, every {step}th", scene.boundaries.len());
        run(&scene, "boundary", &kills);
    }
}

#[test]
fn a_build_killed_at_a_random_moment_leaves_a_whole_index() {
    let (seed, kills) = (number("ATLAS_SEED", 1), number("ATLAS_KILLS", 8));
    let mut random = Random(seed);
    println!("seed {seed}");
    for kind in KINDS {
        let scene = Scene::set(kind, number("ATLAS_DOCUMENTS", DOCUMENTS) as usize);
        let timed = scene.fresh("timed");
        let began = Instant::now();
        assert_eq!(timed.run(Scene::line(kind)).code, Some(0));
        // A little longer, so that some kills come after the commit.
        let whole_us = began.elapsed().as_micros() as usize * 2;
        let kills: Vec<Kill> = (0..kills)
            .map(|_| Kill::After(Duration::from_micros(random.below(whole_us) as u64)))
            .collect();
        run(&scene, "random moment", &kills);
    }
}

#[test]
fn what_counts_as_served_is_told_apart() {
    // The judge must be able to fail: an index of another corpus is neither the old nor the new one.
    let scene = Scene::set(super::scene::Kind::Incremental, DOCUMENTS as usize);
    let other = scene.fresh("other");
    assert_eq!(scene.served(&other), Ok(Served::Old));
    other.edit(4);
    other.build().unwrap();
    assert!(scene.served(&other).unwrap_err().starts_with("neither"));
    let stray = scene.fresh("stray");
    stray.write("index/CURRENT.old", "left");
    assert!(scene.judge(&stray).unwrap_err().starts_with("files left behind: [\"CURRENT.old\"]"));
}
